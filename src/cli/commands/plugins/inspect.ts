import type { Invocation } from "../../command.ts"
import { namedPlugin } from "./named-plugin.ts"

/** `hermes plugins inspect` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, home } = invocation
  const { plugin, name, state } = await namedPlugin(invocation)
  const { content } = plugin
  const rows: (readonly [string, string])[] = [
    ["name", name],
    ["key", plugin.key],
    ["source", `${plugin.source}, ${home.display(plugin.directory)}`],
    ["state", state.kind === "unusable" ? state.reason : state.kind.replace("-", " ")],
  ]
  if (content.kind === "plugin") {
    const { manifest } = content
    rows.push(
      ["version", manifest.version],
      ["kind", manifest.kind],
      ["about", manifest.description],
      ["module", home.display(content.main)],
      ["may use", manifest.capabilities.join(", ")],
      ["needs", manifest.requiresEnv.map((variable) => variable.name).join(", ")],
      ...Object.entries(manifest.provides).map(([what, names]) => [what, names.join(", ")] as const),
    )
  }
  for (const [label, text] of rows) if (text !== "") terminal.line(`${label.padEnd(10)} ${text}`)
  return 0
}
