import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import type { TestSshd } from "../../support/sshd.ts"
import { assembleApp } from "../assembled-app.ts"
import { openToolSession, QUIET } from "./tool-session.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const missing = sshdUnavailableReason()

function settings(server: TestSshd) {
  return {
    config: `${QUIET}terminal:
  backend: ssh
  ssh_host: 127.0.0.1
  ssh_user: root
  ssh_port: ${server.port}
  ssh_key: ${server.keyFile}
  cwd: ${server.directory}
  credential_files: [tokens/service.json]
`,
    env: server.clientEnvironment,
  }
}

describe.skipIf(missing !== undefined)(titleWithReason("file sync over ssh", missing), () => {
  test("a session uploads skills, caches and configured credentials, and downloads caches and credentials, never skills", async () => {
    await using server = await startSshd()
    await using app = await assembleApp([], {
      ...settings(server),
      files: {
        "skills/greet/SKILL.md": "say hello",
        "skills/.hub/quarantine": "untrusted",
        "cache/images/cat.png": "a cat",
        "tokens/service.json": "token 1",
        "auth.json": "{}",
        ".env": "OTHER_TOKEN=abcdefghijkl\n",
      },
    })
    const tools = await openToolSession(app)
    const { output } = await tools.fields("terminal", {
      command: "cd ~/.hermes; find . -type f ! -path './.sync/*' | sort; cat skills/greet/SKILL.md",
    })
    expect(output).toBe("./cache/images/cat.png\n./skills/greet/SKILL.md\n./tokens/service.json\nsay hello")
    await tools.fields("terminal", {
      command:
        "echo 'token 2' >tokens/service.json; echo drawn >cache/images/new.png; mkdir skills/planted; echo x >skills/planted/SKILL.md; echo evil >skills/greet/SKILL.md",
    })
    await tools.session.close("test_end")
    const local = (path: string): string => readFileSync(join(app.home.path, path), "utf8")
    expect([local("tokens/service.json"), local("cache/images/new.png"), local("skills/greet/SKILL.md")]).toEqual([
      "token 2\n",
      "drawn\n",
      "say hello",
    ])
    expect(existsSync(join(app.home.path, "skills/planted"))).toBe(false)
    await expect.poll(() => server.connections()).toBe(0)
  })

  test("commands run when files cannot be uploaded, with one note", async () => {
    await using server = await startSshd()
    writeFileSync(join(server.accountHome, ".hermes"), "in the way")
    await using app = await assembleApp([], {
      ...settings(server),
      files: { "skills/a": "1", "tokens/service.json": "t" },
    })
    const tools = await openToolSession(app)
    const note = `Skills and attachments of this home could not be copied to ${server.accountHome}/.hermes in the workspace; see the log for the reason.`
    expect(await tools.fields("terminal", { command: "echo works" })).toEqual({
      output: "works",
      exit_code: 0,
      error: null,
      workspace_note: note,
    })
    expect(await tools.fields("terminal", { command: "echo on" })).toEqual({
      output: "on",
      exit_code: 0,
      error: null,
    })
    await tools.session.close("test_end")
    expect(readFileSync(join(app.home.path, "logs/agent.log"), "utf8")).toContain(
      "cannot upload files of this home to ssh root@127.0.0.1",
    )
  })

  test("a second session of the same home uploads no unchanged file", async () => {
    await using server = await startSshd()
    await using app = await assembleApp([], {
      ...settings(server),
      files: { "skills/a": "1", "tokens/service.json": "t" },
    })
    for (let round = 0; round < 2; round += 1) {
      await using tools = await openToolSession(app)
      await tools.fields("terminal", { command: "true" })
    }
    const log = readFileSync(join(app.home.path, "logs/agent.log"), "utf8")
    expect(log.match(/uploaded \d+ files to ssh/gu)).toEqual(["uploaded 2 files to ssh"])
  })
})
