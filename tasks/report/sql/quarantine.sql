-- Documents that a stage could not process, with the cause and what to do; also those whose failure an earlier run met.
-- Parameters:
--   stage = : one stage
-- Example: corpusgate sql quarantine --param stage=parse
WITH failures AS (
    SELECT * REPLACE (CASE stage WHEN 'signature' THEN 'dedup' ELSE stage END AS stage),
           -- What dedup decides has another key than the signature that failed.
           CASE stage WHEN 'signature' THEN NULL ELSE stage_key END AS of_key,
           min(recorded_at) OVER (PARTITION BY document_id, stage, content_sha) AS since
    FROM quarantine_history
    QUALIFY row_number() OVER (PARTITION BY document_id, stage, of_key ORDER BY recorded_at DESC) = 1
)
SELECT l.stage, d.doc_class, d.document_id, p.path AS uri, l.reason AS error_class, q.message, q.remedy, q.transient,
       q.attempt, l.computed AS in_this_run,
       NOT coalesce(u.value > 0, false) AS expected, d.source, q.since
FROM locations l
JOIN documents d USING (document_id)
JOIN paths p USING (document_id)
LEFT JOIN failures q
       ON q.document_id = l.document_id AND q.stage = l.stage AND coalesce(q.of_key, l.stage_key) = l.stage_key
LEFT JOIN measures u ON u.document_id = l.document_id AND u.stage = l.stage AND u.metric = 'unexpected_quarantine'
WHERE l.outcome = 'quarantined' AND ($stage IS NULL OR l.stage = $stage)
ORDER BY expected, stage_order(l.stage), p.path
