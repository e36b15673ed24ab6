-- Two runs side by side: headline figures, overall and by class, documents that have both, why a run lacks one.
-- Parameters:
--   stage = : one stage
--   changed_only = false: only figures that differ
--   costs = true: also seconds and bytes, which differ between any two runs
-- Example: corpusgate compare 20261130t02 last
WITH of_a AS (
    SELECT stage::VARCHAR AS stage, metric::VARCHAR AS metric, metric_version, document_id, label_digest,
           [round(fsum(value), 9), round(fsum(numerator), 9), round(fsum(denominator), 9), count(*)] AS measured
    FROM a_measures WHERE status IN ('ok', 'missing') AND slice_key IS NULL AND document_id IS NOT NULL GROUP BY ALL
), of_b AS (
    SELECT stage::VARCHAR AS stage, metric::VARCHAR AS metric, metric_version, document_id, label_digest,
           [round(fsum(value), 9), round(fsum(numerator), 9), round(fsum(denominator), 9), count(*)] AS measured
    FROM b_measures WHERE status IN ('ok', 'missing') AND slice_key IS NULL AND document_id IS NOT NULL GROUP BY ALL
), paired AS (
    SELECT stage, metric, doc_class, count(*) AS paired_documents, count(*) FILTER (differs) AS unlike
    FROM (
        SELECT a.stage, a.metric, a.document_id, d.doc_class, bool_or(a.measured IS DISTINCT FROM b.measured) AS differs
        FROM of_a a
        JOIN of_b b USING (stage, metric, metric_version, document_id)
        JOIN a_documents before ON before.document_id = a.document_id
        JOIN b_documents d ON d.document_id = b.document_id
        JOIN catalogue c ON c.stage = a.stage AND c.metric = a.metric
        -- As the gate pairs: a document is measured alike under the same labels, or with labels for its new bytes.
        WHERE c.needs = 'free' OR a.label_digest IS NOT DISTINCT FROM b.label_digest
              OR before.content_sha IS DISTINCT FROM d.content_sha
        GROUP BY ALL
    )
    GROUP BY GROUPING SETS ((stage, metric), (stage, metric, doc_class))
), in_both AS (
    SELECT m.stage, m.metric, d.doc_class, count(DISTINCT m.document_id) AS documents
    FROM (SELECT stage, metric, document_id FROM of_a UNION SELECT stage, metric, document_id FROM of_b) m
    JOIN a_documents before ON before.document_id = m.document_id AND before.cohort <> 'deleted'
    JOIN b_documents d ON d.document_id = m.document_id AND d.cohort <> 'deleted'
    GROUP BY GROUPING SETS ((m.stage, m.metric), (m.stage, m.metric, d.doc_class))
), both_runs AS (
    SELECT 'a' AS run, *, told(n_stale_label, n_lost_upstream, n_invalid, n_missing, n_not_applicable) AS why
    FROM a_figures
    UNION ALL
    SELECT 'b', *, told(n_stale_label, n_lost_upstream, n_invalid, n_missing, n_not_applicable) FROM b_figures
), sides AS (
    SELECT stage, metric, aggregation, doc_class,
           max(value) FILTER (run = 'a') AS value_a, max(value) FILTER (run = 'b') AS value_b,
           coalesce(max(items) FILTER (run = 'a'), 0) AS items_a,
           coalesce(max(items) FILTER (run = 'b'), 0) AS items_b,
           -- A figure without a value and without a reason: its documents have nothing of the kind.
           max(coalesce(why, 'nothing of the kind')) FILTER (run = 'a') AS why_a,
           max(coalesce(why, 'nothing of the kind')) FILTER (run = 'b') AS why_b
    FROM both_runs WHERE cohort IS NULL AND slice_key IS NULL
    GROUP BY ALL
), labelled AS (
    SELECT DISTINCT b.run, b.doc_class, unnest(c.labels) AS kind
    FROM both_runs b JOIN catalogue c ON c.stage = b.stage AND c.metric = b.metric
    WHERE c.needs = 'gold' AND b.items > 0 AND b.cohort IS NULL AND b.slice_key IS NULL
), present AS (
    SELECT 'a' AS run, doc_class FROM a_documents WHERE cohort <> 'deleted'
    UNION SELECT 'b', doc_class FROM b_documents WHERE cohort <> 'deleted'
), wanting AS (
    SELECT s.stage, s.metric, s.aggregation, s.doc_class,
           string_agg(r.run || ': ' || CASE
               WHEN s.doc_class IS NOT NULL AND (r.run, s.doc_class) NOT IN (FROM present) THEN 'no document of this class'
               WHEN r.why IS NOT NULL THEN r.why
               WHEN c.needs = 'gold' AND NOT EXISTS (
                   FROM labelled l
                   WHERE l.run = r.run AND l.doc_class IS NOT DISTINCT FROM s.doc_class AND list_contains(c.labels, l.kind)
               ) THEN 'not labelled (' || array_to_string(c.labels, ', ') || ')'
               ELSE 'not measured' END, '; ' ORDER BY r.run) AS lacks
    FROM sides s
    JOIN catalogue c ON c.stage = s.stage AND c.metric = s.metric
    CROSS JOIN LATERAL (VALUES ('a', s.value_a, s.why_a), ('b', s.value_b, s.why_b)) r(run, value, why)
    WHERE r.value IS NULL
    GROUP BY ALL
)
SELECT s.stage, s.metric, s.aggregation, coalesce(s.doc_class, 'all') AS doc_class, s.value_a, s.value_b,
       s.value_b - s.value_a AS difference,
       CASE WHEN c.direction = 'none' OR s.value_a IS NULL OR s.value_b IS NULL OR s.value_a = s.value_b THEN ''
            WHEN p.unlike = 0 AND p.paired_documents = i.documents THEN 'other documents'
            WHEN p.unlike IS NULL AND (s.stage, s.metric) IN (SELECT (stage, metric) FROM of_a) THEN 'no pairs'
            WHEN (s.value_b > s.value_a) = (c.direction = 'higher') THEN 'better' ELSE 'worse' END AS reading,
       s.items_a, s.items_b, coalesce(p.paired_documents, 0) AS paired_documents,
       w.lacks
FROM sides s
JOIN catalogue c ON c.stage = s.stage AND c.metric = s.metric
LEFT JOIN wanting w ON w.stage = s.stage AND w.metric = s.metric AND w.aggregation = s.aggregation
     AND w.doc_class IS NOT DISTINCT FROM s.doc_class
LEFT JOIN in_both i ON i.stage = s.stage AND i.metric = s.metric AND i.doc_class IS NOT DISTINCT FROM s.doc_class
LEFT JOIN paired p ON p.stage = s.stage AND p.metric = s.metric AND p.doc_class IS NOT DISTINCT FROM s.doc_class
WHERE ($stage IS NULL OR s.stage = $stage)
  AND ($costs::BOOLEAN OR c.unit NOT IN ('seconds', 'bytes') OR starts_with(s.metric, 'freshness_lag'))
  AND s.items_a + s.items_b > 0
  AND (NOT $changed_only::BOOLEAN OR s.value_a IS DISTINCT FROM s.value_b)
ORDER BY stage_order(s.stage),
         s.metric, s.aggregation, s.doc_class NULLS FIRST
