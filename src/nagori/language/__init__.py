"""Pure rules about text in Japanese and English: tokens, keywords, appraisal, compression, redaction,
time."""
