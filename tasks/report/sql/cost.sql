-- What each stage cost: documents in and out, how many were computed in this run, seconds in all and per document.
-- Example: corpusgate sql cost
SELECT l.stage, count(*) AS documents_in, count(*) FILTER (l.outcome = 'ok') AS documents_out,
       count(*) FILTER (l.outcome = 'quarantined') AS quarantined, count(*) FILTER (l.outcome = 'dropped') AS dropped,
       count(*) FILTER (l.computed) AS computed,
       sum(m.value) AS seconds, sum(m.value) FILTER (l.computed) AS seconds_in_this_run,
       quantile_cont(m.value, 0.5) AS seconds_p50, quantile_cont(m.value, 0.95) AS seconds_p95
FROM locations l
LEFT JOIN measures m ON m.document_id = l.document_id AND m.stage = l.stage AND m.metric = 'seconds'
GROUP BY l.stage
ORDER BY stage_order(l.stage)
