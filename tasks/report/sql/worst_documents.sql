-- The worst documents of a measure, or of every gold measure, as the catalogue's direction says; perfect ones left out.
-- Parameters:
--   metric = : one measure (cer, teds, pii_recall, ...); where absent every gold measure but evidence_survival
--   stage = : one stage
--   doc_class = : one class
--   per_measure = 5: how many documents of each measure
-- Example: corpusgate sql worst_documents --param metric=cer --param per_measure=10
WITH of_documents AS (
    SELECT c.stage, c.metric, c.direction, c.best, m.document_id, count(*) AS items,
           CASE WHEN c.aggregation = 'micro' THEN sum(m.numerator) / nullif(sum(m.denominator), 0)
                ELSE avg(coalesce(m.value, c.missing_score)) END AS value,
           bool_or(m.status = 'missing') AS missing
    FROM measures m JOIN catalogue c ON c.metric = m.metric::VARCHAR AND c.stage = m.stage::VARCHAR
    WHERE m.status IN ('ok', 'missing') AND m.slice_key IS NULL AND m.document_id IS NOT NULL
      AND (c.per = 'unit') = (m.unit_id IS NOT NULL)
      AND ($metric IS NULL AND c.needs = 'gold' AND c.metric <> 'evidence_survival' OR c.metric = $metric)
      AND ($stage IS NULL OR c.stage = $stage) AND c.direction <> 'none'
    GROUP BY c.stage, c.metric, c.direction, c.best, c.aggregation, m.document_id
)
SELECT o.stage, o.metric, o.value, o.items, o.missing, d.doc_class, d.document_id, p.path AS uri
FROM of_documents o JOIN documents d USING (document_id) JOIN paths p USING (document_id)
WHERE o.value IS NOT NULL AND o.value IS DISTINCT FROM o.best
  AND ($doc_class IS NULL OR d.doc_class = $doc_class)
QUALIFY row_number() OVER (PARTITION BY o.stage, o.metric
                           ORDER BY CASE o.direction WHEN 'higher' THEN o.value ELSE -o.value END, p.path)
        <= $per_measure::BIGINT
ORDER BY stage_order(o.stage),
         o.metric, CASE o.direction WHEN 'higher' THEN o.value ELSE -o.value END, p.path
