-- The least lag of what is new or changed, from its commit to this run's plan, longest first; none in a first run.
-- Parameters:
--   doc_class = : one class
--   most = 50: how many documents
-- Example: corpusgate sql freshness --param most=20
SELECT d.doc_class, d.cohort, p.path AS uri, d.document_id, d.commit_time, m.value AS lag_seconds, m.status::VARCHAR AS status
FROM measures m JOIN documents d USING (document_id)
JOIN paths p USING (document_id)
WHERE m.metric = 'freshness_lag_seconds' AND m.slice_key IS NULL AND ($doc_class IS NULL OR d.doc_class = $doc_class)
ORDER BY m.value DESC NULLS LAST, p.path
LIMIT $most::BIGINT
