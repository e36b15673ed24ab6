-- Labelled documents without a score, and why: nothing vanishes from a mean without being counted here.
-- Parameters:
--   stage = : one stage
-- Example: corpusgate sql labels_lost --param stage=parse
WITH lost AS (
    SELECT m.stage::VARCHAR AS stage, m.metric::VARCHAR AS metric, m.status::VARCHAR AS status, d.doc_class, p.path AS uri,
           d.document_id, count(*) AS items
    FROM measures m
    JOIN catalogue c ON c.metric = m.metric::VARCHAR AND c.stage = m.stage::VARCHAR
    JOIN documents d USING (document_id)
    JOIN paths p USING (document_id)
    WHERE m.status NOT IN ('ok', 'not_applicable') AND c.needs = 'gold' AND m.slice_key IS NULL
      AND ($stage IS NULL OR m.stage = $stage)
    GROUP BY ALL
)
SELECT * FROM lost ORDER BY stage_order(stage), metric, status, uri
