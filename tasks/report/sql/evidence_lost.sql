-- Which question lost evidence at which stage: a row per fall, with passages before and after it and in the end.
-- Parameters:
--   document_id = : one document
--   stage = : one stage
-- Example: corpusgate sql evidence_lost --param stage=boilerplate
WITH survival AS (
    SELECT m.document_id, m.unit_id AS question_id, m.stage::VARCHAR AS stage, m.numerator AS passages,
           m.denominator AS of_passages,
           lag(m.numerator, 1, m.denominator) OVER way AS before,
           last_value(m.numerator) OVER (way ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS at_end
    FROM measures m
    WHERE m.metric = 'evidence_survival' AND m.unit_id IS NOT NULL AND m.status IN ('ok', 'missing')
    WINDOW way AS (PARTITION BY m.document_id, m.unit_id ORDER BY stage_order(m.stage::VARCHAR))
)
SELECT s.stage, d.doc_class, d.document_id, p.path AS uri, s.question_id, s.before::BIGINT AS passages_before,
       s.passages::BIGINT AS passages_after, s.at_end::BIGINT AS passages_at_end, s.of_passages::BIGINT AS passages,
       coalesce(l.outcome, 'not reached') AS outcome, l.reason
FROM survival s
JOIN documents d USING (document_id)
JOIN paths p USING (document_id)
LEFT JOIN locations l ON l.document_id = s.document_id AND l.stage = s.stage
WHERE s.passages < s.before
  AND ($document_id IS NULL OR s.document_id = $document_id) AND ($stage IS NULL OR s.stage = $stage)
ORDER BY stage_order(s.stage), p.path, s.question_id
