-- What each stage did to each class: documents in, out, quarantined, dropped, and some headline figures.
-- Parameters:
--   doc_class = : one class only
-- Example: corpusgate sql class_by_stage --param doc_class=report
WITH flow AS (
    SELECT d.doc_class, l.stage, count(*) AS documents_in,
           count(*) FILTER (l.outcome = 'ok') AS documents_out,
           count(*) FILTER (l.outcome = 'quarantined') AS quarantined,
           count(*) FILTER (l.outcome = 'dropped') AS dropped,
           count(*) FILTER (l.computed) AS computed
    FROM locations l JOIN documents d USING (document_id)
    GROUP BY ALL
), figures_of_class AS (
    SELECT stage, doc_class,
           max(value) FILTER (metric = 'seconds' AND aggregation = 'sum') AS seconds,
           max(value) FILTER (metric = 'cer') AS cer,
           max(value) FILTER (metric = 'teds') AS teds,
           max(value) FILTER (metric = 'page_completeness') AS page_completeness,
           max(value) FILTER (metric = 'garbage_ratio') AS garbage_ratio,
           max(value) FILTER (metric = 'content_f1') AS content_f1,
           max(value) FILTER (metric = 'kept_ratio') AS kept_ratio,
           max(value) FILTER (metric = 'duplicate_rate') AS duplicate_rate,
           max(value) FILTER (stage = 'pii' AND metric = 'recall') AS pii_recall,
           max(value) FILTER (metric = 'attribution_completeness') AS attribution_completeness,
           max(value) FILTER (metric = 'conservation') AS conservation,
           max(value) FILTER (metric = 'evidence_recall') AS evidence_recall,
           max(value) FILTER (metric = 'title_exact') AS title_exact,
           max(value) FILTER (stage = 'embed' AND metric = 'coverage') AS coverage,
           max(value) FILTER (metric = 'reconciliation') AS reconciliation
    FROM figures WHERE doc_class IS NOT NULL AND slice_key IS NULL
    GROUP BY ALL
)
SELECT f.*, g.* EXCLUDE (stage, doc_class)
FROM flow f LEFT JOIN figures_of_class g USING (stage, doc_class)
WHERE $doc_class IS NULL OR f.doc_class = $doc_class
ORDER BY f.doc_class, stage_order(f.stage)
