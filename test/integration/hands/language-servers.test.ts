import { mkdirSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { assembleApp } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { processesIn } from "../../support/processes-in.ts"
import { openHands, QUIET } from "./hands.ts"

const TSC = new URL("../../../node_modules/typescript/bin/tsc", import.meta.url).pathname
const bubblewrap = await findBubblewrap()

const FILES = {
  "tsconfig.json": '{"compilerOptions": {"strict": true, "noEmit": true, "module": "nodenext", "types": []}}\n',
  "old.ts": 'export const old: number = "wrong from the start"\n',
  "lib.ts": "export const lib = (n: number): number => n\n",
}

/** A project with the real TypeScript 7 as its server. */
async function project(sandbox: "off" | "required"): Promise<AssembledApp> {
  const config =
    `${QUIET}terminal:\n  sandbox: ${sandbox}\n` +
    `lsp:\n  wait_timeout: 25\n  servers:\n    typescript:\n      command: [${TSC}, --lsp, --stdio]\n`
  const house = await assembleApp([], { config, workFiles: FILES })
  mkdirSync(join(house.home.workdir, ".git"))
  return house
}

const block = (file: string, ...lines: readonly string[]): string =>
  [`<diagnostics file="${file}">`, ...lines, "</diagnostics>"].join("\n")
const NOT_A_NUMBER = "Type 'string' is not assignable to type 'number'. [2322] (ts)"

describe.each(["off", "required"] as const)("TypeScript with terminal.sandbox %s", (sandbox) => {
  test.skipIf(sandbox === "required" && "missing" in bubblewrap)(
    "write_file and patch tell what an edit broke",
    async () => {
      await using house = await project(sandbox)
      await using hands = await openHands(house)
      const diagnosticsOf = async (tool: string, input: unknown): Promise<unknown> =>
        (await hands.fields(tool, input))["lsp_diagnostics"]

      // What was wrong before stays unsaid, although it has moved.
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
      // A file that a command made is known to the server too.
      await hands.fields("terminal", { command: "echo 'export const made = 1' >made.ts" })
      const both =
        '*** Update File: new.ts\n-export const a: number = "x"\n+import { made } from "./made.js"\n+export const a: string = made\n' +
        "*** Update File: lib.ts\n-export const lib = (n: number): number => n\n+export const lib = (n: number): string => n\n"
      expect(await diagnosticsOf("patch", { mode: "patch", patch: both })).toBe(
        [
          block("lib.ts", "ERROR [1:43] Type 'number' is not assignable to type 'string'. [2322] (ts)"),
          block("new.ts", "ERROR [2:14] Type 'number' is not assignable to type 'string'. [2322] (ts)"),
        ].join("\n"),
      )
      expect(processesIn(house.home.workdir)).not.toEqual([])
      await hands.session.close("test")
      expect(processesIn(house.home.workdir)).toEqual([])
    },
  )
})

test("without a git work tree, or with lsp.enabled off, nothing is asked", async () => {
  for (const inTree of [true, false]) {
    await using house = await assembleApp([], {
      config: `${QUIET}lsp:\n  enabled: ${!inTree}\n  servers:\n    typescript:\n      command: [${TSC}, --lsp, --stdio]\n`,
      workFiles: FILES,
    })
    if (inTree) mkdirSync(join(house.home.workdir, ".git"))
    await using hands = await openHands(house)
    expect(
      await hands.fields("write_file", { path: "n.ts", content: 'export const a: number = "x"\n' }),
    ).not.toHaveProperty("lsp_diagnostics")
  }
})
