import { listPlugins } from "../../../admin/plugins/list-plugins.ts"
import type { ListedPlugin } from "../../../admin/plugins/list-plugins.ts"
import { assertNever } from "../../../base/assert-never.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { canDrawList, showListScreen } from "../../terminal/list-screen.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"
import { VERSION } from "../../version.ts"

/** `hermes plugins` on a terminal: enables and disables plugins. Otherwise, and as `hermes plugins list`, it prints them. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const selects = ["enabled", "user", "no-bundled", "plain", "json"].some((name) => flags.has(name))
  if (invocation.path.length === 1 && !selects && canDrawList(invocation)) {
    const { pluginList } = await import("../../../commands/lists/plugin-list.ts")
    await showListScreen(pluginList(homeContext(invocation), { version: VERSION, cwd: process.cwd() }), invocation)
    return 0
  }
  const { plugins, problems } = await listPlugins(homeContext(invocation), { version: VERSION, cwd: process.cwd() })
  const shown = plugins.filter(
    ({ plugin, state }) =>
      (!flags.has("enabled") || state.kind === "enabled") &&
      (!flags.has("user") || plugin.source === "user") &&
      (!flags.has("no-bundled") || plugin.source !== "bundled"),
  )
  for (const problem of problems) terminal.errLine(problem)
  if (flags.has("json")) printJson(terminal, shown.map(asJson))
  else if (flags.has("plain")) for (const { plugin } of shown) terminal.line(plugin.key)
  else if (shown.length === 0)
    terminal.line(
      "No plugins. Install one with `hermes plugins install`, or write one with `hermes plugins create NAME`.",
    )
  else
    printTable(
      [{}, {}, {}, { flexible: true }, { flexible: true }],
      shown.map((listed) => [
        listed.plugin.key,
        version(listed),
        listed.plugin.source,
        stateText(listed),
        description(listed),
      ]),
      invocation,
    )
  return 0
}

function stateText({ state }: ListedPlugin): string {
  switch (state.kind) {
    case "enabled":
      return "enabled"
    case "not-enabled":
      return "not enabled"
    case "disabled":
      return "disabled"
    case "unusable":
      return state.reason
    default:
      return assertNever(state)
  }
}

function version({ plugin: { content } }: ListedPlugin): string {
  return content.kind === "plugin" ? content.manifest.version : ""
}

function description({ plugin: { content } }: ListedPlugin): string {
  return content.kind === "plugin" ? content.manifest.description : ""
}

function asJson(listed: ListedPlugin): Readonly<Record<string, unknown>> {
  const { plugin, name, state } = listed
  return {
    key: plugin.key,
    name,
    version: version(listed),
    description: description(listed),
    source: plugin.source,
    path: plugin.directory,
    enabled: state.kind === "enabled",
    state: state.kind,
    ...(state.kind === "unusable" ? { reason: state.reason } : {}),
  }
}
