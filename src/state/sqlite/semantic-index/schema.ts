/** A file with another version is emptied, because everything in it can be rebuilt. */
export const INDEX_SCHEMA_VERSION = 1

/** In order of creation. */
export const INDEX_SCHEMA: readonly { readonly name: string; readonly create: string }[] = [
  {
    name: "entries",
    create: `CREATE TABLE entries (
      id INTEGER PRIMARY KEY, kind TEXT NOT NULL, ref TEXT NOT NULL, chunk INTEGER NOT NULL, text TEXT NOT NULL,
      terms TEXT NOT NULL, text_hash TEXT NOT NULL, created_at REAL NOT NULL, UNIQUE (ref, kind, chunk));
      CREATE INDEX entries_text_hash ON entries(text_hash); CREATE INDEX entries_kind ON entries(kind)`,
  },
  {
    // The terms are already stemmed, so the tokenizer only splits at spaces. `detail = none` stores no positions.
    name: "entry_terms",
    create: `CREATE VIRTUAL TABLE entry_terms USING fts5(terms, content = 'entries', content_rowid = 'id', tokenize = 'ascii', detail = none)`,
  },
  {
    // `uses`: the number of entries that contain the term.
    name: "terms",
    create: "CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, uses INTEGER NOT NULL)",
  },
  {
    name: "term_trigrams",
    create: `CREATE VIRTUAL TABLE term_trigrams USING fts5(term, content = 'terms', content_rowid = 'id', tokenize = 'trigram', detail = none)`,
  },
  {
    name: "indexed_sessions",
    create: `CREATE TABLE indexed_sessions (
      session_id TEXT PRIMARY KEY, last_message_id INTEGER NOT NULL, last_activity REAL NOT NULL, message_count INTEGER NOT NULL)`,
  },
  { name: "notes", create: "CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL)" },
  {
    name: "totals",
    create: `CREATE TABLE totals (entries INTEGER NOT NULL, terms INTEGER NOT NULL);
      INSERT INTO totals(entries, terms) VALUES (0, 0)`,
  },
  {
    name: "memory_vectors",
    create: `CREATE TABLE memory_vectors (
      id INTEGER PRIMARY KEY, kind TEXT NOT NULL, ref TEXT NOT NULL, chunk INTEGER NOT NULL, text_hash TEXT NOT NULL UNIQUE,
      dims INTEGER NOT NULL, vector BLOB NOT NULL, created_at REAL NOT NULL)`,
  },
]
