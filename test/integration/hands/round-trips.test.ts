import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, test } from "vitest"

import { sshdMissing, startSshd } from "../../support/sshd.ts"
import type { SshdPeer } from "../../support/sshd.ts"
import { assembleApp } from "../assembled-app.ts"
import { openHands, QUIET } from "./hands.ts"

const missing = sshdMissing()

/** Every start of ssh leaves a line; gives how many there were since the last time. */
function countJourneys(server: SshdPeer): () => number {
  const folder = dirname(server.folder)
  const [program, log] = [join(folder, "bin", "ssh"), join(folder, "journeys")]
  writeFileSync(log, "")
  writeFileSync(program, readFileSync(program, "utf8").replace("\nexec ", `\necho >>${log}\nexec `))
  return () => {
    const count = readFileSync(log, "utf8").length
    writeFileSync(log, "")
    return count
  }
}

describe.skipIf(missing !== undefined)(
  `journeys over ssh${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    test("a file tool travels as seldom as it can", async () => {
      await using server = await startSshd()
      const journeys = countJourneys(server)
      await using house = await assembleApp([], {
        config: QUIET,
        env: {
          ...server.clientEnvironment,
          TERMINAL_ENV: "ssh",
          TERMINAL_SSH_HOST: "127.0.0.1",
          TERMINAL_SSH_USER: "root",
          TERMINAL_SSH_PORT: String(server.port),
          TERMINAL_SSH_KEY: server.keyFile,
          TERMINAL_CWD: server.folder,
        },
      })
      const hands = await openHands(house)
      const command =
        "mkdir -p src/deep; printf 'one\\ntwo\\n' >src/deep/a.txt; printf 'one\\n' >src/b.txt; echo 1 >c.txt"
      await hands.fields("terminal", { command })
      const count = async (tool: string, input: unknown): Promise<readonly [string, number]> => {
        journeys()
        expect(await hands.fields(tool, input)).not.toHaveProperty("error")
        return [tool, journeys()]
      }
      // The first file of a session is asked for its repository and its rules too, the first one of a directory for its rules.
      expect(await count("read_file", { path: "c.txt" })).toEqual(["read_file", 3])
      expect(await count("read_file", { path: "src/deep/a.txt" })).toEqual(["read_file", 3])
      expect([
        await count("read_file", { path: "src/b.txt" }),
        await count("write_file", { path: "src/new.txt", content: "x\n" }),
        await count("write_file", { path: "src/deep/a.txt", content: "one\ntwo\nthree\n" }),
        await count("patch", { path: "src/deep/a.txt", old_string: "two", new_string: "TWO" }),
        await count("search_files", { pattern: "TWO" }),
        await count("search_files", { pattern: "*.txt", target: "files" }),
      ]).toEqual([
        ["read_file", 2],
        ["write_file", 3],
        ["write_file", 3],
        ["patch", 4],
        ["search_files", 3],
        ["search_files", 3],
      ])
    })
  },
)
