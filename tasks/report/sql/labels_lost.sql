-- Labels without a score, and why: nothing vanishes from a mean without being counted here.
-- Parameters:
--   stage = : one stage
--   status = : one reason, such as stale_label, missing, lost_upstream, invalid, unbound
-- Example: corpusgate sql labels_lost --param stage=parse
WITH lost AS (
    SELECT m.stage::VARCHAR AS stage, m.metric::VARCHAR AS metric,
           -- A quote that stands nowhere in the bytes of its document is no better bound than a label of no document.
           CASE WHEN m.metric = 'evidence_survival' AND m.status = 'invalid' AND contains(m.unit_id, '#quote-')
                THEN 'unbound' ELSE m.status::VARCHAR END AS status,
           d.doc_class, p.path AS uri, d.document_id, NULL AS gold_set, count(*) AS items
    FROM measures m
    JOIN catalogue c ON c.metric = m.metric::VARCHAR AND c.stage = m.stage::VARCHAR
    JOIN documents d USING (document_id)
    JOIN paths p USING (document_id)
    WHERE m.status NOT IN ('ok', 'not_applicable') AND c.needs = 'gold' AND m.slice_key IS NULL
    GROUP BY ALL
    UNION ALL
    -- What names no document of the run has no row of measures: each label is missed by every measure that reads its kind.
    SELECT c.stage, c.metric, 'unbound', NULL, NULL, NULL, u.gold_set, sum(u.labels)::BIGINT
    FROM labels_unbound u
    JOIN catalogue c ON c.needs = 'gold' AND list_contains(c.labels, u.kind)
    GROUP BY ALL
)
SELECT * FROM lost WHERE ($stage IS NULL OR stage = $stage) AND ($status IS NULL OR status = $status)
ORDER BY stage_order(stage), metric, status, uri, gold_set
