import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { podmanUnavailableReason, startPodman } from "../../support/podman.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import { assembleApp, type AssembledApp } from "../assembled-app.ts"
import { openToolSession, QUIET } from "../workspace-tools/tool-session.ts"

const TOKEN = "the login of the weather service"
const FRONT = `---
name: weather
description: Weather
required_environment_variables:
  - name: WEATHER_CITY
required_credential_files:
  - path: weather/login.json
  - path: .env
  - path: logs/agent.log
  - path: weather/link.json
  - path: weather
  - path: /etc/hostname
---

Ask.
`

const FILES = {
  ".no-bundled-skills": "",
  ".env": "WEATHER_CITY=Oslo\n",
  "auth.json": '{"key":"a key of Hermes"}',
  "skills/weather/SKILL.md": FRONT,
  "weather/login.json": TOKEN,
  "weather/other.json": "not declared",
}

/** Reads every declared file at its path below the home of Hermes, as commands see it. */
const readAll = (home: string): string =>
  `cd ${home}; for f in weather/login.json weather/other.json .env auth.json logs/agent.log weather/link.json; do echo "$f: $(cat $f 2>/dev/null | head -c 60)"; done; echo "city: $WEATHER_CITY"`

function withLink(app: AssembledApp): AssembledApp {
  symlinkSync("../auth.json", join(app.home.path, "weather/link.json"))
  return app
}

async function useSkill(app: AssembledApp, home: string) {
  const tools = await openToolSession(app)
  const before = await tools.fields("terminal", { command: readAll(home) })
  const viewed = await tools.call("skill_view", { name: "weather" })
  const after = await tools.fields("terminal", { command: readAll(home) })
  const isWritable = await tools.fields("terminal", { command: `touch ${home}/weather/login.json && echo written` })
  await tools.session.close("test_end")
  return {
    before: String(before["output"]),
    viewed: viewed.text,
    after: String(after["output"]),
    isWritable: String(isWritable["output"]),
  }
}

const SEEN = `weather/login.json: ${TOKEN}
weather/other.json: 
.env: 
auth.json: 
logs/agent.log: 
weather/link.json: 
city: `

describe("credential files that a skill declares", () => {
  test("are readable in the sandbox of this machine once the skill is loaded, and nothing else of the home is", async () => {
    await using app = withLink(
      await assembleApp([], { config: `${QUIET}terminal:\n  sandbox: required\n`, files: FILES }),
    )
    const { before, viewed, after, isWritable } = await useSkill(app, app.home.path)
    expect(isWritable).not.toContain("written")
    expect(before).not.toContain(TOKEN)
    expect(after).toBe(`${SEEN}Oslo`)
    expect(viewed).toContain("Commands do not see .env, logs/agent.log, weather/link.json, weather.")
  })

  test("of a project are not passed on", async () => {
    await using app = await assembleApp([], {
      config: `${QUIET}terminal:\n  sandbox: required\n`,
      files: { ".no-bundled-skills": "", "weather/login.json": TOKEN },
    })
    mkdirSync(join(app.home.workdir, ".agents/skills/weather"), { recursive: true })
    writeFileSync(join(app.home.workdir, ".agents/skills/weather/SKILL.md"), FRONT)
    const { viewed, after } = await useSkill(app, app.home.path)
    expect(viewed).toContain("Commands do not see weather/login.json")
    expect(after).not.toContain(TOKEN)
  })
})

const noSsh = sshdUnavailableReason()
describe.skipIf(noSsh !== undefined)(titleWithReason("credential files over ssh", noSsh), () => {
  test("are copied when the skill is loaded and removed when the session ends; a file that was there stays", async () => {
    await using server = await startSshd()
    const config = `${QUIET}terminal:
  backend: ssh
  ssh_host: 127.0.0.1
  ssh_user: root
  ssh_port: ${server.port}
  ssh_key: ${server.keyFile}
  cwd: ${server.directory}
`
    const open = async () => withLink(await assembleApp([], { config, env: server.clientEnvironment, files: FILES }))
    const remote = join(server.accountHome, ".hermes/weather/login.json")
    {
      await using app = await open()
      const { before, after } = await useSkill(app, "~/.hermes")
      expect(before).not.toContain(TOKEN)
      expect(after).toContain(`weather/login.json: ${TOKEN}`)
      expect(after).not.toMatch(/key of Hermes|Oslo|not declared/u)
      expect(existsSync(remote)).toBe(false)
    }
    mkdirSync(join(remote, ".."), { recursive: true })
    writeFileSync(remote, "of that machine")
    await using app = await open()
    expect((await useSkill(app, "~/.hermes")).after).toContain("weather/login.json: of that machine")
    expect(existsSync(remote)).toBe(true)
  }, 60_000)
})

const noPodman = podmanUnavailableReason()
describe.skipIf(noPodman !== undefined)(titleWithReason("credential files in a container", noPodman), () => {
  test("are copied into the running container and removed when the session ends", async () => {
    using engine = startPodman()
    await using app = withLink(
      await assembleApp([], {
        config: `${QUIET}terminal:
  backend: docker
  docker_image: ${engine.image}
  docker_persist_across_processes: false
`,
        env: { HERMES_DOCKER_BINARY: engine.program },
        files: FILES,
      }),
    )
    const { before, after } = await useSkill(app, "~/.hermes")
    expect(before).not.toContain(TOKEN)
    expect(after).toContain(SEEN)
    const kept = join(app.home.path, "sandboxes/docker/default/home/.hermes/weather/login.json")
    expect(existsSync(kept)).toBe(false)
  }, 120_000)
})
