import { mkdirSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { processesIn } from "../../support/processes-in.ts"
import { assembleApp } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { openToolSession, QUIET } from "./tool-session.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const TSC = new URL("../../../node_modules/typescript/bin/tsc", import.meta.url).pathname
const bubblewrap = await findBubblewrap()

const FILES = {
  "tsconfig.json": '{"compilerOptions": {"strict": true, "noEmit": true, "module": "nodenext", "types": []}}\n',
  "old.ts": 'export const old: number = "wrong from the start"\n',
  "lib.ts": "export const lib = (n: number): number => n\n",
}

/** A project with the real TypeScript 7 language server. */
async function project(sandbox: "off" | "required"): Promise<AssembledApp> {
  const config =
    `${QUIET}terminal:\n  sandbox: ${sandbox}\n` +
    `lsp:\n  wait_timeout: 25\n  servers:\n    typescript:\n      command: [${TSC}, --lsp, --stdio]\n`
  const app = await assembleApp([], { config, workFiles: FILES })
  mkdirSync(join(app.home.workdir, ".git"))
  return app
}

const block = (file: string, ...lines: readonly string[]): string =>
  [`<diagnostics file="${file}">`, ...lines, "</diagnostics>"].join("\n")
const NOT_A_NUMBER = "Type 'string' is not assignable to type 'number'. [2322] (ts)"

describe.each(["off", "required"] as const)("TypeScript with terminal.sandbox %s", (sandbox) => {
  const reason = sandbox === "required" && "missing" in bubblewrap ? bubblewrap.missing : undefined
  test.skipIf(reason !== undefined)(
    titleWithReason("write_file and patch report what an edit broke", reason),
    async () => {
      await using app = await project(sandbox)
      await using tools = await openToolSession(app)
      const diagnosticsOf = async (tool: string, input: unknown): Promise<unknown> =>
        (await tools.fields(tool, input))["lsp_diagnostics"]

      // An error that existed before is not reported, although its line has changed.
      const inserted =
        'import { lib } from "./lib.js"\n\nexport const old: number = "wrong from the start"\nlib("no")\n'
      expect(await diagnosticsOf("write_file", { path: "old.ts", content: inserted })).toBe(
        block(
          "old.ts",
          "ERROR [4:5] Argument of type 'string' is not assignable to parameter of type 'number'. [2345] (ts)",
        ),
      )
      expect(
        await diagnosticsOf("patch", { path: "old.ts", old_string: 'lib("no")', new_string: "lib(1)" }),
      ).toBeUndefined()
      expect(await diagnosticsOf("write_file", { path: "new.ts", content: 'export const a: number = "x"\n' })).toBe(
        block("new.ts", `ERROR [1:14] ${NOT_A_NUMBER}`),
      )
      // The server also knows a file that a command has created.
      await tools.fields("terminal", { command: "echo 'export const made = 1' >made.ts" })
      const both =
        '*** Update File: new.ts\n-export const a: number = "x"\n+import { made } from "./made.js"\n+export const a: string = made\n' +
        "*** Update File: lib.ts\n-export const lib = (n: number): number => n\n+export const lib = (n: number): string => n\n"
      expect(await diagnosticsOf("patch", { mode: "patch", patch: both })).toBe(
        [
          block("lib.ts", "ERROR [1:43] Type 'number' is not assignable to type 'string'. [2322] (ts)"),
          block("new.ts", "ERROR [2:14] Type 'number' is not assignable to type 'string'. [2322] (ts)"),
        ].join("\n"),
      )
      expect(processesIn(app.home.workdir)).not.toEqual([])
      await tools.session.close("test")
      // A shell that waited for the next command was killed, but may take a moment to end.
      await expect.poll(() => processesIn(app.home.workdir), { timeout: 5000 }).toEqual([])
    },
  )
})

test("without a git work tree, or with lsp.enabled off, there are no diagnostics", async () => {
  for (const inTree of [true, false]) {
    await using app = await assembleApp([], {
      config: `${QUIET}lsp:\n  enabled: ${!inTree}\n  servers:\n    typescript:\n      command: [${TSC}, --lsp, --stdio]\n`,
      workFiles: FILES,
    })
    if (inTree) mkdirSync(join(app.home.workdir, ".git"))
    await using tools = await openToolSession(app)
    expect(
      await tools.fields("write_file", { path: "n.ts", content: 'export const a: number = "x"\n' }),
    ).not.toHaveProperty("lsp_diagnostics")
  }
})
