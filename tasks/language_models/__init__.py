"""What the rooms share that read texts with language models: texts in pieces, and loaded models on loan."""
