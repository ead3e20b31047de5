import { setPluginEnabled } from "../../../admin/plugins/change-plugin.ts"
import { installPlugin } from "../../../admin/plugins/install-plugin.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { namedPlugin } from "./named-plugin.ts"

/** `hermes plugins install` */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, flags, terminal, home, signal } = invocation
  const [address = ""] = positionals
  const context = homeContext(invocation)
  const installed = valueOrCliError(
    await installPlugin(context, address, { force: flags.has("force"), cwd: process.cwd(), signal }),
  )
  const { manifest, directory, warnings } = installed
  for (const warning of warnings) terminal.errLine(asSentence(warning))
  terminal.line(`Installed ${manifest.name} ${manifest.version} in ${home.display(directory)}.`)
  terminal.line(
    `It may use: ${manifest.capabilities.join(", ") || "nothing that needs a capability"}. Its code runs in Hermes with your rights.`,
  )
  for (const { name, description } of manifest.requiresEnv)
    if ((invocation.environment.get(name) ?? "") === "")
      terminal.line(
        `It needs ${name}${description === "" ? "" : ` (${description})`}: set it with \`hermes config set ${name} VALUE\`.`,
      )
  const wanted =
    flags.has("enable") ||
    (!flags.has("no-enable") && terminal.stdinIsTty && (await terminal.confirm("Enable it now?")) === true)
  if (!wanted) {
    terminal.line(`It is not enabled. Enable it with \`hermes plugins enable ${manifest.name}\`.`)
    return 0
  }
  valueOrCliError(
    await setPluginEnabled(context, await namedPlugin({ ...invocation, positionals: [manifest.name] }), true),
  )
  terminal.line(`${manifest.name} is enabled.`)
  return 0
}
