import { readlinkSync } from "node:fs"

import { ok } from "../../../src/base/result.ts"
import { createLocalWorkspace } from "../../../src/exec/local/local-workspace.ts"
import { sandboxArguments } from "../../../src/exec/sandbox/sandbox-arguments.ts"

/**
 * How often commands of every sort find the file `secret` open, and how deep their shell believes to be. The process that put up the walls
 * is looked at too. Without a bubblewrap there are none.
 */
export async function descriptorLooks(directory: string, bubblewrap: string | undefined) {
  const places = `/proc/self/fd /proc/$$/fd ${bubblewrap === undefined ? "" : "/proc/1/fd"}`
  const look = `echo $(ls -l ${places} | grep -c "secret$") $SHLVL`
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
    return (await workspace.run(look, { ...limits, keepState }).exit).output.trim()
  }
  const start = async (pty: boolean): Promise<string> => {
    let output = ""
    const begun = await workspace.start(look, { pty, onOutput: (text) => (output += text) })
    await begun.exit
    return output.trim()
  }
  const seen = {
    first: await run(true),
    byWaitingShell: await run(true),
    withoutState: await run(false),
    inBackground: await start(false),
    inTerminal: await start(true),
  }
  await workspace.close()
  return { ofHermes: readlinkSync("/proc/self/fd/61"), seen }
}
