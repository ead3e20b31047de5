import type { LanguageDiagnostics } from "../../exec/language-server/language-diagnostics.ts"

/** What language servers say about files that a tool changes. */
export type DiagnosticsPort = Pick<LanguageDiagnostics, "before">
