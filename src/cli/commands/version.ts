import type { Invocation } from "../command.ts"
import { versionLine } from "../version.ts"

/** `hermes version`: the version, and the paths of the program, the home and the runtime. */
export function run({ terminal, home }: Invocation): Promise<number> {
  terminal.line(versionLine())
  terminal.line(`program  ${process.argv[1] ?? process.execPath}`)
  terminal.line(`home     ${home.display()}`)
  terminal.line(`profile  ${home.profile}`)
  terminal.line(`runtime  ${process.execPath}`)
  return Promise.resolve(0)
}
