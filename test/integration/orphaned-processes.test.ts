import { readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const LEAVE =
  "setsid env -i sh -c 'echo $$ > pid; exec sleep 1000' < /dev/null > /dev/null 2>&1 &\n(sleep 1000 > /dev/null 2>&1 &)\nwhile ! [ -s pid ]; do :; done\n"

test.skipIf(process.platform !== "linux")(
  "without a sandbox, a process that left its command and cleared its environment is reported once",
  async () => {
    await using assembled = await assembleApp(
      [callsTool("terminal", { command: "sh leave.sh" }), says("Done."), says("Hello."), says("Hello.")],
      { config: "terminal: {sandbox: off}\ncheckpoints: {enabled: false}\n", workFiles: { "leave.sh": LEAVE } },
    )
    const session = await assembled.open()
    await runToEnd(session, "go")
    const pid = Number(readFileSync(join(assembled.home.workdir, "pid"), "utf8"))
    try {
      const { end } = await runToEnd(session, "hello")
      expect(end.result.notes?.join("\n")).toContain(
        `left processes behind that Hermes does not end: ${pid} (sleep 1000). If`,
      )
      expect((await runToEnd(session, "hello")).end.result.notes).toBeUndefined()
    } finally {
      process.kill(pid, "SIGKILL")
    }
  },
)
