import { resolve } from "node:path"
import { exportProfile } from "../../../config/profiles/profile-archive.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { counted } from "../../../base/counted.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes profile export NAME [-o FILE]` */
export async function run({ flags, positionals, terminal, home, environment }: Invocation): Promise<number> {
  const [name = ""] = positionals
  const output = resolve(flags.text("output") ?? `${name}.tar.gz`)
  const { files, removedSettings } = valueOrCliError(await exportProfile({ home, environment }, name, { output }))
  terminal.line(`Packed ${counted(files, "file")} into ${home.display(output)}. Keys and logins are not in it.`)
  if (removedSettings.length > 0) {
    terminal.line(`Left out of config.yaml: ${oneLine(removedSettings.join(", "))}.`)
  }
  return 0
}
