import { join } from "node:path"

import { findProgram } from "../../../src/base/find-program.ts"
import { quoteForShell } from "../../../src/base/quote-for-shell.ts"
import { ok } from "../../../src/base/result.ts"
import type { LoadSandboxRuntime } from "../../../src/exec/sandbox/seatbelt/sandbox-runtime.ts"
import { seatbeltRuntime } from "../../../src/exec/sandbox/seatbelt/sandbox-runtime.ts"
import { findBubblewrap } from "../bubblewrap.ts"

const LAUNCHER = join(import.meta.dirname, "launcher.mjs")

/** Why the walls of sandbox-runtime cannot be tested here. */
export async function missingForSandboxRuntime(): Promise<string | undefined> {
  const bubblewrap = await findBubblewrap()
  if ("missing" in bubblewrap) return bubblewrap.missing
  const missing = ["socat", "rg"].find((name) => findProgram(name, process.env["PATH"] ?? "") === undefined)
  return missing === undefined ? undefined : `${missing} is not installed`
}

/**
 * The walls that Hermes uses on macOS, with bubblewrap instead of Seatbelt: everything but the last step is the code of production.
 * The package leaves files in `scratch`; `proxySocket` leads to the proxy of Hermes.
 */
export function linuxRuntime({
  scratch,
  proxySocket,
}: {
  readonly scratch: string
  readonly proxySocket?: string
}): LoadSandboxRuntime {
  return (path) =>
    Promise.resolve(
      ok(
        seatbeltRuntime(({ command, ...parameters }) => {
          const facts = JSON.stringify({ ...parameters, proxySocket })
          const words = [process.execPath, LAUNCHER, facts, "/bin/bash", "-c", command]
          return `env SANDBOX_RUNTIME=1 TMPDIR=${quoteForShell(scratch)} ${words.map(quoteForShell).join(" ")}`
        }, path),
      ),
    )
}
