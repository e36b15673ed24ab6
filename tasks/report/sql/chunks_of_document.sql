-- The chunks of a document: where each lies in the clean text, its pages, section and tokens. Without their text.
-- Parameters:
--   document_id: the document's id
-- Example: corpusgate sql chunks_of_document --param document_id=doc-4f1c0a92b3d65e78
SELECT ordinal, chunk_id, "start", "end", page_first, page_last, tokens, array_to_string(section_path, ' > ') AS section
FROM chunks WHERE document_id = $document_id
ORDER BY ordinal
