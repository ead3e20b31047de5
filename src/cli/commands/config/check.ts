import { checkSettings, type ConfigFileFacts, type SettingsCheck } from "../../../admin/settings/check-settings.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes config check`: exits 1 when there is an error; warnings do not count. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  const check = await checkSettings(homeContext(invocation))
  if (flags.has("json")) {
    const report = checkJson(check)
    printJson(terminal, report)
    return report.valid ? 0 : 1
  }
  const shown = home.display(check.path)
  if (check.kind === "broken") {
    const { line, column, message } = check.broken
    terminal.errLine(
      `✗ ${shown} does not parse (line ${line}, column ${column}: ${message}); its settings are ignored until it is repaired.`,
    )
    return 1
  }
  const { file, problems, warnings, reserved } = check
  if (file === undefined) terminal.line(`${shown} does not exist; all settings have their defaults.`)
  else for (const line of fileLines(shown, file)) terminal.line(line)
  if (reserved.length > 0) terminal.line(`Reserved for a later release, without effect yet: ${reserved.join(", ")}.`)
  for (const warning of warnings) terminal.errLine(`⚠ ${asSentence(warning)}`)
  for (const { severity, path, message, fix } of problems) {
    terminal.errLine(`${severity === "error" ? "✗" : "⚠"} ${path === "" ? "" : `${path}: `}${message} — ${fix}`)
  }
  if (problems.some((problem) => problem.severity === "error")) return 1
  terminal.line(problems.length === 0 && warnings.length === 0 ? "No problems." : "No errors.")
  return 0
}

function checkJson(check: SettingsCheck): { readonly valid: boolean } & Readonly<Record<string, unknown>> {
  const { path } = check
  if (check.kind === "broken") return { path, valid: false, broken: check.broken }
  const { file, problems, warnings, reserved } = check
  return {
    path,
    valid: !problems.some(({ severity }) => severity === "error"),
    exists: file !== undefined,
    version: file?.version ?? null,
    outdated: file?.outdated ?? false,
    problems,
    warnings,
    reserved,
  }
}

function fileLines(shown: string, file: ConfigFileFacts): readonly string[] {
  const { version, currentVersion, outdated, defaultCount, settingCount } = file
  const stated = version === 0 ? "states no version" : `has version ${version}`
  return [
    `${shown} ${stated}, this release writes ${currentVersion}.`,
    ...(outdated ? ["`hermes config migrate` brings it up to date."] : []),
    ...(!outdated && version === 0 ? ["Nothing in it is outdated."] : []),
    `${defaultCount} of ${settingCount} settings are not in it and have their defaults.`,
  ]
}
