import type { LanguageDiagnostics } from "../../exec/language-server/language-diagnostics.ts"

/** Diagnostics of language servers for files that a tool changes. */
export type DiagnosticsPort = Pick<LanguageDiagnostics, "before">
