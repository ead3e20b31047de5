import type { Invocation } from "../command.ts"
import { printJson } from "../terminal/json-output.ts"
import { buildId, VERSION, versionLine } from "../version.ts"

/** `hermes version`: the version, and the paths of the program, the home and the runtime. */
export function run({ terminal, home, flags }: Invocation): Promise<number> {
  if (flags.has("json")) {
    printJson(terminal, {
      version: VERSION,
      build: buildId(),
      node: process.versions.node,
      program: process.argv[1] ?? process.execPath,
      home: home.path,
      profile: home.profile,
      runtime: process.execPath,
    })
    return Promise.resolve(0)
  }
  terminal.line(versionLine())
  terminal.line(`program  ${process.argv[1] ?? process.execPath}`)
  terminal.line(`home     ${home.display()}`)
  terminal.line(`profile  ${home.profile}`)
  terminal.line(`runtime  ${process.execPath}`)
  return Promise.resolve(0)
}
