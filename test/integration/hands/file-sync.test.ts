import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { sshdMissing, startSshd } from "../../support/sshd.ts"
import type { SshdPeer } from "../../support/sshd.ts"
import { assembleApp } from "../assembled-app.ts"
import { openHands, QUIET } from "./hands.ts"

const missing = sshdMissing()

function settings(server: SshdPeer) {
  return {
    config: `${QUIET}terminal:
  backend: ssh
  ssh_host: 127.0.0.1
  ssh_user: root
  ssh_port: ${server.port}
  ssh_key: ${server.keyFile}
  cwd: ${server.folder}
  credential_files: [tokens/service.json]
`,
    env: server.clientEnvironment,
  }
}

describe.skipIf(missing !== undefined)(
  `files kept the same over ssh${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    test("a session brings skills, caches and registered credentials along, and takes changes back with it", async () => {
      await using server = await startSshd()
      await using house = await assembleApp([], {
        ...settings(server),
        files: {
          "skills/greet/SKILL.md": "say hello",
          "skills/.hub/quarantine": "by a stranger",
          "cache/images/cat.png": "a cat",
          "tokens/service.json": "token 1",
          "auth.json": "{}",
          ".env": "OTHER_TOKEN=abcdefghijkl\n",
        },
      })
      const hands = await openHands(house)
      const { output } = await hands.fields("terminal", {
        command: "cd ~/.hermes; find . -type f ! -path './.sync/*' | sort; cat skills/greet/SKILL.md",
      })
      expect(output).toBe("./cache/images/cat.png\n./skills/greet/SKILL.md\n./tokens/service.json\nsay hello")
      await hands.fields("terminal", {
        command:
          "echo 'token 2' >tokens/service.json; echo drawn >cache/images/new.png; mkdir skills/planted; echo x >skills/planted/SKILL.md",
      })
      await hands.session.close("test_end")
      const here = (path: string): string => readFileSync(join(house.home.path, path), "utf8")
      expect([here("tokens/service.json"), here("cache/images/new.png"), here("skills/greet/SKILL.md")]).toEqual([
        "token 2\n",
        "drawn\n",
        "say hello",
      ])
      expect(existsSync(join(house.home.path, "skills/planted"))).toBe(false)
      await expect.poll(() => server.connections()).toBe(0)
    })

    test("a place that takes no files still runs commands, and says so once", async () => {
      await using server = await startSshd()
      writeFileSync(join(server.account, ".hermes"), "in the way")
      await using house = await assembleApp([], {
        ...settings(server),
        files: { "skills/a": "1", "tokens/service.json": "t" },
      })
      const hands = await openHands(house)
      const note = `Skills and attachments of this home could not be copied to ${server.account}/.hermes there; the log says why.`
      expect(await hands.fields("terminal", { command: "echo works" })).toEqual({
        output: "works",
        exit_code: 0,
        error: null,
        place_note: note,
      })
      expect(await hands.fields("terminal", { command: "echo on" })).toEqual({
        output: "on",
        exit_code: 0,
        error: null,
      })
      await hands.session.close("test_end")
      expect(readFileSync(join(house.home.path, "logs/agent.log"), "utf8")).toContain(
        "could not be sent to ssh root@127.0.0.1",
      )
    })

    test("a second session of the same home sends nothing that is there already", async () => {
      await using server = await startSshd()
      await using house = await assembleApp([], {
        ...settings(server),
        files: { "skills/a": "1", "tokens/service.json": "t" },
      })
      for (let round = 0; round < 2; round += 1) {
        await using hands = await openHands(house)
        await hands.fields("terminal", { command: "true" })
      }
      const log = readFileSync(join(house.home.path, "logs/agent.log"), "utf8")
      expect(log.match(/\d+ files sent to ssh/gu)).toEqual(["2 files sent to ssh"])
    })
  },
)
