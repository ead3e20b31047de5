import { fail, ok } from "../../../base/result.ts"
import type { Result } from "../../../base/result.ts"
import { errorMessage } from "../../../base/system-error.ts"
import type { LocalProxy } from "../network/network-access.ts"
import { ALLOW_NETWORK_HINT } from "../probe-sandbox.ts"
import type { RenderWalls, SandboxSettings } from "../sandbox-settings.ts"
import { runtimeParameters } from "./runtime-parameters.ts"
import { loadSandboxRuntime } from "./sandbox-runtime.ts"

/** Prepares sandbox-runtime and, with a list of hosts, the proxy. Undefined when the package is not installed. */
export async function openSandboxRuntime(settings: SandboxSettings): Promise<Result<RenderWalls | undefined>> {
  const { path, sockets = [], loadRuntime = loadSandboxRuntime } = settings
  const loaded = await loadRuntime(path)
  // `probeSandbox` says why.
  if (!loaded.ok) return ok(undefined)
  const proxy = await openProxy(settings)
  if (!proxy.ok) return proxy
  return ok((walls) => loaded.value.wrap(runtimeParameters({ ...walls, sockets, proxy: proxy.value })))
}

/** With a list of hosts, the proxy is the only route of commands, so a failure is an error. */
async function openProxy({ network, access }: SandboxSettings): Promise<Result<LocalProxy | undefined>> {
  if (network !== "list" || access === undefined) return ok(undefined)
  try {
    return ok(await access.openLocal())
  } catch (error) {
    return fail(`terminal.sandbox_network is list, but ${errorMessage(error)}; ${ALLOW_NETWORK_HINT}`)
  }
}
