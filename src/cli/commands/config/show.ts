import { describeSettings, effectiveSettings, settingsWithOrigin } from "../../../admin/settings/describe-settings.ts"
import type { DescribedSetting } from "../../../admin/settings/describe-settings.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { bold, oneLine } from "../../../terminal/text-layout.ts"

/** `hermes config` and `hermes config show` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  const context = homeContext(invocation)
  const withOrigin = flags.has("origin")
  if (flags.has("json")) {
    printJson(terminal, await (withOrigin ? settingsWithOrigin(context) : effectiveSettings(context)))
    return 0
  }
  const { apiKeys, sections, otherChanges, path, broken } = await describeSettings(context)
  const print = (title: string, rows: readonly Row[]): void => {
    if (rows.length === 0) return
    terminal.styledLine(bold(title, terminal.color))
    const width = Math.max(...rows.map(([name]) => name.length))
    for (const [name, value] of rows) terminal.line(`  ${name.padEnd(width)}  ${value}`)
    terminal.line()
  }
  const row = (setting: DescribedSetting): Row => [setting.key, settingText(setting, withOrigin)]
  print("Paths", [
    ["home", home.display()],
    ["config", home.display(home.file("config.yaml"))],
    ["secrets", home.display(home.file(".env"))],
    ["sessions", home.display(home.file("state.db"))],
  ])
  print(
    "API keys",
    apiKeys.map(({ name, value }) => [name, value ?? "(not set)"]),
  )
  for (const { title, settings } of sections) print(title, settings.map(row))
  print("Other changes", otherChanges.map(row))
  if (broken !== undefined) {
    terminal.errLine(
      `${home.display(path)} does not parse (line ${broken.line}: ${broken.message}); its settings are ignored until it is repaired.`,
    )
  }
  return 0
}

type Row = readonly [name: string, value: string]

function settingText({ value, origin, reserved }: DescribedSetting, withOrigin: boolean): string {
  const text = typeof value === "string" ? (value === "" ? "(empty)" : oneLine(value)) : JSON.stringify(value)
  const notes = [...(withOrigin ? [origin] : []), ...(reserved === true ? ["reserved, no effect yet"] : [])]
  return notes.length === 0 ? text : `${text}  (${notes.join("; ")})`
}
