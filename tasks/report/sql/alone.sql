-- Stages scored alone, on gold inputs, beside the cascade: a row per document and measure; empty before `evaluate --alone`.
-- Parameters:
--   stage = : one stage
--   metric = : one measure
--   document_id = : one document
--   differing_only = false: only where the two differ
-- Example: corpusgate sql alone --param stage=pii --param differing_only=true
WITH both_ways AS (
    SELECT 'cascade' AS way, stage::VARCHAR AS stage, metric::VARCHAR AS metric, document_id, unit_id, value, numerator,
           denominator, status::VARCHAR AS status
    FROM measures
    WHERE slice_key IS NULL AND document_id IN (SELECT document_id FROM alone)
    UNION ALL
    SELECT 'alone', stage::VARCHAR, metric::VARCHAR, document_id, unit_id, value, numerator, denominator,
           status::VARCHAR
    FROM alone WHERE slice_key IS NULL
), of_documents AS (
    SELECT b.way, b.stage, b.metric, b.document_id, c.direction,
           CASE WHEN c.aggregation = 'micro'
                THEN sum(b.numerator) FILTER (scored) / nullif(sum(b.denominator) FILTER (scored), 0)
                ELSE avg(coalesce(b.value, c.missing_score)) FILTER (scored) END AS value,
           count(*) FILTER (b.status = 'lost_upstream') AS lost_upstream,
           any_value(b.status) FILTER (b.status NOT IN ('ok', 'lost_upstream')) AS status
    FROM (SELECT *, status IN ('ok', 'missing') AS scored FROM both_ways) b
    JOIN catalogue c ON c.metric = b.metric AND c.stage = b.stage
    WHERE NOT scored OR (c.per = 'unit') = (b.unit_id IS NOT NULL)
    GROUP BY b.way, b.stage, b.metric, b.document_id, c.direction, c.aggregation
), pairs AS (
    SELECT stage, metric, document_id, direction,
           max(value) FILTER (way = 'cascade') AS in_cascade, max(value) FILTER (way = 'alone') AS alone,
           max(lost_upstream) FILTER (way = 'cascade') AS lost_upstream,
           max(status) FILTER (way = 'alone') AS status_alone
    FROM of_documents GROUP BY ALL HAVING bool_or(way = 'alone')
)
SELECT p.stage, p.metric, d.doc_class, n.path AS uri, p.document_id, p.in_cascade, p.alone,
       p.in_cascade - p.alone AS difference, coalesce(p.lost_upstream, 0) AS lost_upstream, p.status_alone, i.reason,
       i.made_from, i.stands_in
FROM pairs p
JOIN documents d USING (document_id)
JOIN paths n USING (document_id)
LEFT JOIN alone_inputs i ON i.document_id = p.document_id AND i.stage = p.stage
WHERE ($stage IS NULL OR p.stage = $stage) AND ($metric IS NULL OR p.metric = $metric)
  AND ($document_id IS NULL OR p.document_id = $document_id)
  AND (NOT $differing_only::BOOLEAN OR p.alone IS NOT NULL AND (abs(p.in_cascade - p.alone) > 1e-9 IS NOT FALSE))
ORDER BY stage_order(p.stage), p.metric, uri
