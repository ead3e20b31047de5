/** The languages of scripts; the first is the default. */
export const LANGUAGES = ["javascript", "typescript", "python"] as const

export type Language = (typeof LANGUAGES)[number]

/**
 * A script as a command line, for the policy: what judges `python3 - <<'EOF'` also judges a script, and the user who is asked sees the
 * whole of it.
 */
export function asCommandLine(code: string, language: Language): string {
  let end = "HERMES_SCRIPT"
  while (code.includes(end)) end += "_"
  return `${INTERPRETERS[language]} - <<'${end}'\n${code}\n${end}`
}

const INTERPRETERS: Readonly<Record<Language, string>> = {
  javascript: "node --input-type=module",
  typescript: "node --input-type=module-typescript",
  python: "python3",
}
