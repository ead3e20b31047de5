import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ALLOW_NETWORK_HINT, locateBubblewrap } from "./probe-sandbox.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"
import type { RenderWalls, SandboxSettings } from "./sandbox-settings.ts"
import { seccompFilter } from "./seccomp-filter.ts"
import type { SeccompOptions } from "./seccomp-filter.ts"

/** Prepares bubblewrap: the seccomp program and, with a list of hosts, a network. Undefined when it is not installed. */
export async function openBubblewrap(settings: SandboxSettings): Promise<Result<RenderWalls | undefined>> {
  const program = locateBubblewrap(settings.path)
  if (program === undefined) return ok(undefined)
  const network = await openNetwork(program, settings)
  if (!network.ok) return network
  try {
    const seccompFile = writeSeccompFile(settings.homes.hermesHome, {
      unixSockets: (settings.sockets ?? []).length > 0,
    })
    return ok((walls) =>
      sandboxArguments({ ...walls, program, seccompFile, networkPrefix: walls.network ? network.value : [] }),
    )
  } catch (error) {
    return fail(`the sandbox cannot be prepared: ${errorMessage(error)}`)
  }
}

/** With a list of hosts, commands get a network of their own. Without it they would have none, so a failure is an error. */
async function openNetwork(program: string, { network, access }: SandboxSettings): Promise<Result<readonly string[]>> {
  if (network !== "list" || access === undefined) return ok([])
  try {
    return ok(await access.open(program))
  } catch (error) {
    return fail(`terminal.sandbox_network is list, but ${errorMessage(error)}; ${ALLOW_NETWORK_HINT}`)
  }
}

/** In the home, which commands in the sandbox cannot see. Undefined on a processor that the filter is not written for. */
function writeSeccompFile(hermesHome: string, options: SeccompOptions): string | undefined {
  const filter = seccompFilter(options)
  if (filter === undefined) return undefined
  const name = options.unixSockets === true ? "seccomp-with-sockets.bpf" : "seccomp.bpf"
  const path = join(hermesHome, "cache", "sandbox", name)
  if (existsSync(path) && readFileSync(path).equals(filter)) return path
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileAtomic(path, filter)
  return path
}
