/** Replaces the two variables that a skill may use. */
export function substituteVariables(
  text: string,
  values: { readonly directory: string; readonly sessionId: string | undefined },
): string {
  return text
    .replaceAll("${HERMES_SKILL_DIR}", values.directory)
    .replaceAll("${HERMES_SESSION_ID}", values.sessionId ?? "")
}

const INLINE_COMMAND = /!`([^`\n]{1,2000})`/gu
const MAX_OUTPUT_CHARS = 4000
const MAX_COMMANDS = 20

/** Runs the snippets written as !`command` in order and puts their output into the text. */
export async function expandInlineCommands(text: string, run: (command: string) => Promise<string>): Promise<string> {
  let expanded = ""
  let end = 0
  let count = 0
  for (const { 0: snippet, 1: command = "", index } of text.matchAll(INLINE_COMMAND)) {
    count += 1
    const output =
      count > MAX_COMMANDS ? `[not run: a skill may run ${MAX_COMMANDS} inline commands]` : await run(command)
    const shown = output.length > MAX_OUTPUT_CHARS ? `${output.slice(0, MAX_OUTPUT_CHARS)}\n[output cut]` : output
    expanded += text.slice(end, index) + shown.trimEnd()
    end = index + snippet.length
  }
  return expanded + text.slice(end)
}

export function hasInlineCommands(text: string): boolean {
  return text.search(INLINE_COMMAND) !== -1
}

/** The slash command of a skill; undefined when its name has no usable character. */
export function skillSlug(name: string): string | undefined {
  const slug = name
    .toLowerCase()
    .replaceAll(/[\s_]+/gu, "-")
    .replaceAll(/[^a-z0-9-]/gu, "")
    .replaceAll(/-{2,}/gu, "-")
    .replaceAll(/^-|-$/gu, "")
  return slug === "" ? undefined : slug
}
