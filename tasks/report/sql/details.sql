-- Where a low figure comes from, by place and never by text: cells, edits, personal data, pairs, pages without output.
-- Parameters:
--   document_id = : one document, by its id
--   metric = : one measure
--   fault = : one fault (missing, invented, changed, shifted, mistyped, misplaced, falsely_merged, not_merged)
--   most = 1000: most rows
-- Example: corpusgate sql details --param metric=cer --param fault=missing
WITH rows_at_fault AS (
    SELECT stage::VARCHAR AS stage, metric::VARCHAR AS metric, slice_value::VARCHAR AS fault, document_id, numerator,
           unit_id[len(document_id) + 2:] AS place
    FROM measures
    WHERE slice_key = 'fault' AND unit_id IS NOT NULL AND ($document_id IS NULL OR document_id = $document_id)
), places AS (
    SELECT stage, metric, fault, document_id,
           regexp_extract(place, '^table-(\d+)-row-(\d+)-column-(\d+)$', ['table', 'row', 'column']) AS cell,
           regexp_extract(place, '^expected-(\d+)-(\d+)-found-(\d+)-(\d+)$', ['a', 'b', 'c', 'd']) AS edit,
           regexp_extract(place, '^span-(\d+)-(\d+)-(.*)$', ['a', 'b', 'type']) AS span,
           numerator
    FROM rows_at_fault
), pairs AS (
    SELECT stage::VARCHAR AS stage, metric::VARCHAR AS metric, string_split(unit_id, '|') AS two,
           CASE metric::VARCHAR WHEN 'false_merge_rate' THEN 'falsely_merged' ELSE 'not_merged' END AS fault
    FROM measures
    WHERE metric IN ('false_merge_rate', 'missed_merge_rate') AND slice_key IS NULL AND numerator > 0
), found AS (
    SELECT stage, metric, fault, document_id, NULL::BIGINT AS page,
           try_cast(cell.table AS BIGINT) + 1 AS table_number, try_cast(cell.row AS BIGINT) AS row_number,
           try_cast(cell.column AS BIGINT) AS column_number,
           coalesce(try_cast(edit.a AS BIGINT), try_cast(span.a AS BIGINT)) AS "start",
           coalesce(try_cast(edit.b AS BIGINT), try_cast(span.b AS BIGINT)) AS "end",
           try_cast(edit.c AS BIGINT) AS found_start, try_cast(edit.d AS BIGINT) AS found_end,
           CASE WHEN edit.a <> '' THEN numerator END::BIGINT AS edits,
           nullif(span.type, '') AS entity_type, NULL::VARCHAR AS other_document_id
    FROM places
    UNION ALL BY NAME
    SELECT 'parse' AS stage, 'page_completeness' AS metric, 'missing' AS fault, document_id,
           unnest(pages_without_output)::BIGINT AS page
    FROM parse WHERE $document_id IS NULL OR document_id = $document_id
    UNION ALL BY NAME  -- a pair stands under both of its documents
    SELECT stage, metric, fault, two[1] AS document_id, two[2] AS other_document_id FROM pairs
    UNION ALL BY NAME
    SELECT stage, metric, fault, two[2] AS document_id, two[1] AS other_document_id FROM pairs
)
SELECT f.*, p.path AS uri
FROM found f JOIN paths p USING (document_id)
WHERE ($document_id IS NULL OR f.document_id = $document_id)
  AND ($metric IS NULL OR f.metric = $metric) AND ($fault IS NULL OR f.fault = $fault)
ORDER BY stage_order(f.stage), f.metric, uri, f.document_id, f.page, f.table_number, f.row_number, f.column_number,
         f.edits DESC, f."start", f.found_start, f.entity_type, f.other_document_id, f.fault
LIMIT $most::BIGINT
