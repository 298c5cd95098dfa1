"""How every command says what it found: text for a terminal, Markdown for a comment, JSON for programs."""
