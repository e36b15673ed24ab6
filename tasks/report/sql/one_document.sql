-- One document's way through the eleven stages (no rows: no such id): outcome, reason, parts, seconds, figures, file.
-- Parameters:
--   document_id: the document's id (`corpusgate trace` finds it by its path)
-- Example: corpusgate sql one_document --param document_id=doc-4f1c0a92b3d65e78
WITH parts AS (
    SELECT 'parse' AS stage, count(*) AS parts FROM elements WHERE document_id = $document_id
    UNION ALL SELECT 'pii', count(*) FROM pii_spans WHERE document_id = $document_id
    UNION ALL SELECT 'chunk', count(*) FROM chunks WHERE document_id = $document_id
    UNION ALL SELECT 'embed', count(*) FROM embeddings WHERE document_id = $document_id
    UNION ALL SELECT 'index', sum(len(chunk_ids)) FROM "index" WHERE document_id = $document_id
), there AS (
    SELECT 'fetch' AS stage FROM "fetch" WHERE document_id = $document_id
    UNION SELECT 'parse' FROM parse WHERE document_id = $document_id
    UNION SELECT 'boilerplate' FROM boilerplate WHERE document_id = $document_id
    UNION SELECT 'normalize' FROM normalize WHERE document_id = $document_id
    UNION SELECT 'language' FROM language WHERE document_id = $document_id
    UNION SELECT 'dedup' FROM dedup WHERE document_id = $document_id
    UNION SELECT 'pii' FROM pii WHERE document_id = $document_id
    UNION SELECT 'chunk' FROM chunk WHERE document_id = $document_id
    UNION SELECT 'metadata' FROM metadata WHERE document_id = $document_id
    UNION SELECT 'embed' FROM embed WHERE document_id = $document_id
    UNION SELECT 'index' FROM "index" WHERE document_id = $document_id
), figures_of_document AS (
    SELECT m.stage::VARCHAR AS stage, m.metric::VARCHAR AS metric, avg(m.value) AS value
    FROM measures m JOIN catalogue c ON c.metric = m.metric::VARCHAR AND c.stage = m.stage::VARCHAR
    WHERE m.document_id = $document_id AND m.slice_key IS NULL
      AND (c.per = 'unit') = (m.unit_id IS NOT NULL)
      AND m.metric NOT IN ('seconds', 'quarantined', 'unexpected_quarantine', 'dropped')  -- said in other columns
    GROUP BY ALL HAVING avg(m.value) IS NOT NULL
), figures_of_stage AS (
    SELECT stage, map(list(metric ORDER BY metric), list(value ORDER BY metric)) AS figures
    FROM figures_of_document GROUP BY stage
), seconds AS (
    SELECT stage::VARCHAR AS stage, max(value) AS seconds FROM measures
    WHERE document_id = $document_id AND metric = 'seconds' AND slice_key IS NULL GROUP BY ALL
), reasons AS (
    SELECT stage, any_value(message) AS message, any_value(remedy) AS remedy FROM quarantine_history
    WHERE document_id = $document_id GROUP BY stage
)
SELECT s.stage, coalesce(l.outcome, 'not reached') AS outcome, l.reason, l.computed,
       CASE WHEN l.outcome = 'ok' AND k.stage IS NOT NULL THEN p.parts END::BIGINT AS parts, t.seconds, f.figures, l.file,
       CASE WHEN l.file IS NOT NULL THEN k.stage IS NOT NULL END AS in_lake, r.message, r.remedy
FROM stages s
LEFT JOIN locations l ON l.stage = s.stage AND l.document_id = $document_id
LEFT JOIN parts p ON p.stage = s.stage
LEFT JOIN there k ON k.stage = s.stage
LEFT JOIN figures_of_stage f ON f.stage = s.stage
LEFT JOIN seconds t ON t.stage = s.stage
LEFT JOIN reasons r ON r.stage = s.stage
WHERE EXISTS (FROM documents d WHERE d.document_id = $document_id)
ORDER BY stage_order(s.stage)
