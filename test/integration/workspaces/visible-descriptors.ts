import { readlinkSync } from "node:fs"

import { ok } from "../../../src/base/result.ts"
import { createLocalWorkspace } from "../../../src/exec/local/local-workspace.ts"
import { sandboxArguments } from "../../../src/exec/sandbox/sandbox-arguments.ts"

/**
 * For each kind of command: how many descriptors of the file `secret` it sees, and its SHLVL. With bubblewrap, also inspects the process
 * that set up the sandbox.
 */
export async function visibleDescriptors(directory: string, bubblewrap: string | undefined) {
  const directories = `/proc/self/fd /proc/$$/fd ${bubblewrap === undefined ? "" : "/proc/1/fd"}`
  const inspect = `echo $(ls -l ${directories} | grep -c "secret$") $SHLVL`
  const workspace = createLocalWorkspace({
    cwd: directory,
    userHome: directory,
    environment: { PATH: process.env["PATH"] ?? "", SHLVL: "3" },
    startupFiles: [],
    ...(bubblewrap !== undefined && {
      openSandbox: () =>
        Promise.resolve(
          ok(({ cwd, stateDirectory, hasTerminal }) =>
            sandboxArguments({
              program: bubblewrap,
              writable: [directory, stateDirectory],
              readOnly: [],
              hidden: [],
              shown: [],
              network: false,
              cwd,
              keepTerminal: hasTerminal,
            }),
          ),
        ),
    }),
  })
  const run = async (keepState: boolean): Promise<string> => {
    const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 1000 }
    return (await workspace.run(inspect, { ...limits, keepState }).exit).output.trim()
  }
  const start = async (pty: boolean): Promise<string> => {
    let output = ""
    const started = await workspace.start(inspect, { pty, onOutput: (text) => (output += text) })
    await started.exit
    return output.trim()
  }
  const seen = {
    first: await run(true),
    inPrewarmedShell: await run(true),
    withoutState: await run(false),
    inBackground: await start(false),
    inTerminal: await start(true),
  }
  await workspace.close()
  return { ofHermes: readlinkSync("/proc/self/fd/61"), seen }
}
