import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, test } from "vitest"

import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import type { TestSshd } from "../../support/sshd.ts"
import { assembleApp } from "../assembled-app.ts"
import { openToolSession, QUIET } from "./tool-session.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const missing = sshdUnavailableReason()

/**
 * Counts starts of ssh through a line in a file. Returns the number since the last call. Hermes judges the command `true` once in advance,
 * at a moment that is not known; its look-ups do not count.
 */
function countRoundTrips(server: TestSshd): () => number {
  const folder = dirname(server.directory)
  const [program, log] = [join(folder, "bin", "ssh"), join(folder, "round-trips")]
  writeFileSync(log, "")
  writeFileSync(
    program,
    readFileSync(program, "utf8").replace(
      "\nexec ",
      `\nprintf "%s\\n" "$(printf %s "$*" | tail -c 20 | tr "\\n" " ")" >>${log}\nexec `,
    ),
  )
  return () => {
    const trips = readFileSync(log, "utf8").split("\n").slice(0, -1)
    writeFileSync(log, "")
    return trips.filter((end) => !/\/true'? *$/u.test(end)).length
  }
}

describe.skipIf(missing !== undefined)(titleWithReason("round trips over ssh", missing), () => {
  test("file tools make as few round trips as possible", async () => {
    await using server = await startSshd()
    const roundTrips = countRoundTrips(server)
    await using app = await assembleApp([], {
      config: QUIET,
      env: {
        ...server.clientEnvironment,
        TERMINAL_ENV: "ssh",
        TERMINAL_SSH_HOST: "127.0.0.1",
        TERMINAL_SSH_USER: "root",
        TERMINAL_SSH_PORT: String(server.port),
        TERMINAL_SSH_KEY: server.keyFile,
        TERMINAL_CWD: server.directory,
      },
    })
    const tools = await openToolSession(app)
    const command =
      "mkdir -p src/deep; printf 'one\\ntwo\\n' >src/deep/a.txt; printf 'one\\n' >src/b.txt; echo 1 >c.txt"
    await tools.fields("terminal", { command })
    const count = async (tool: string, input: unknown): Promise<readonly [string, number]> => {
      roundTrips()
      expect(await tools.fields(tool, input)).not.toHaveProperty("error")
      return [tool, roundTrips()]
    }
    // Without ripgrep there, the search first looks at the directory.
    const searchTrips = existsSync("/usr/bin/rg") ? 2 : 3
    // The first file of a session also looks up its repository and context files, the first one in a directory its context files.
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
      ["search_files", searchTrips],
      ["search_files", searchTrips],
    ])
  })
})
