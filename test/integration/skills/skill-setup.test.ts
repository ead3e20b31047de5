import { readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { AgentEvent } from "../../../src/protocol/events.ts"
import type { Session } from "../../../src/app/session/session.ts"
import { createCliHome } from "../../support/cli-home.ts"
import type { ModelServer } from "../../support/model-server/server.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const NEEDS = [
  "required_environment_variables:",
  "  - name: WEATHER_TOKEN",
  "    prompt: Token of the weather service",
  "    help: https://weather.example/tokens",
  "required_credential_files:",
  "  - path: weather/login.json",
  "  - path: ../outside.json",
  "  - path: /etc/hostname",
  "",
].join("\n")
const skill = (more: string): string => `---\nname: weather\ndescription: Weather\n${more}---\n\nAsk.\n`
const NO_BUNDLE = { ".no-bundled-skills": "" }
const SECRET = "w-4711-sunny-token"

function lastResult(model: ModelServer, request: number): string {
  return model.view(request).messages.at(-1)?.results.at(-1)?.text ?? ""
}

function answering(session: Session, answer: string): (event: AgentEvent) => void {
  return (event) => {
    if (event.type === "clarify-request") session.answer(event.requestId, { kind: "clarify", text: answer })
  }
}

const VIEW_AND_USE = [
  callsTool("skill_view", { name: "weather" }),
  callsTool("terminal", { command: 'test -n "$WEATHER_TOKEN" && echo "length ${#WEATHER_TOKEN} $WEATHER_TOKEN"' }),
  says("ok"),
]

test("a missing variable is asked for as a secret, stored in .env, passed to commands and never shown", async () => {
  await using app = await assembleApp(VIEW_AND_USE, {
    files: { ...NO_BUNDLE, "skills/weather/SKILL.md": skill(NEEDS), "weather/login.json": "{}" },
  })
  const session = await app.open()
  const { events } = await runToEnd(session, "go", answering(session, ` ${SECRET} `))
  const asked = events.filter((event) => event.type === "clarify-request")
  expect(asked).toMatchObject([
    { kind: "secret", asker: "hermes", question: expect.stringContaining("Token of the weather service") },
  ])
  const viewed = lastResult(app.model, 1)
  expect(viewed).toContain('"missing_required_environment_variables":[]')
  // Only files inside the home count.
  expect(viewed).toContain('"missing_credential_files":["../outside.json","/etc/hostname"]')
  expect(readFileSync(join(app.home.path, ".env"), "utf8")).toContain(`WEATHER_TOKEN=${SECRET}`)
  expect(lastResult(app.model, 2)).toContain(`length ${SECRET.length}`)
  expect(JSON.stringify([events, app.model.requests.map(({ rawBody }) => rawBody)])).not.toContain(SECRET)
})

test("an empty answer skips the set-up, without a user nobody is asked, and a project cannot ask", async () => {
  const files = { ...NO_BUNDLE, "skills/weather/SKILL.md": skill(NEEDS) }
  await using skipped = await assembleApp([VIEW_AND_USE[0] ?? says(""), says("ok")], { files })
  const session = await skipped.open()
  await runToEnd(session, "go", answering(session, ""))
  expect(lastResult(skipped.model, 1)).toMatch(/"setup_needed":true,"setup_skipped":true/u)
  await using unattended = await assembleApp([VIEW_AND_USE[0] ?? says(""), says("ok")], { files })
  await runToEnd(await unattended.open({ attended: false }), "go")
  expect(lastResult(unattended.model, 1)).toMatch(/"setup_needed":true,"setup_skipped":false/u)
  await using project = await assembleApp([VIEW_AND_USE[0] ?? says(""), says("ok")], {
    files: NO_BUNDLE,
    workFiles: { ".agents/skills/weather/SKILL.md": skill(NEEDS) },
  })
  const { events } = await runToEnd(await project.open(), "go")
  expect(events.some(({ type }) => type === "clarify-request")).toBe(false)
  expect(lastResult(project.model, 1)).toContain("WEATHER_TOKEN is not set")
})

test("a variable of Hermes itself, one that changes what programs run, and any in plan mode are not asked for", async () => {
  const more = "required_environment_variables:\n  - name: OPENAI_API_KEY\n  - name: LD_PRELOAD\n"
  const isAsked = async (front: string, permissionProfile: string): Promise<boolean> => {
    await using app = await assembleApp([VIEW_AND_USE[0] ?? says(""), says("ok")], {
      files: { ...NO_BUNDLE, "skills/weather/SKILL.md": skill(front) },
    })
    const { events } = await runToEnd(await app.open({ permissionProfile }), "go")
    return events.some(({ type }) => type === "clarify-request")
  }
  expect(await isAsked(more, "default")).toBe(false)
  expect(await isAsked(NEEDS, "plan")).toBe(false)
})

test("skills config lists, sets and refuses options; the skill is loaded with the value", async () => {
  const options =
    "metadata:\n  hermes:\n    config:\n      - key: weather.city\n        description: Where\n        default: Rome\n"
  using home = createCliHome()
  const { mkdirSync, writeFileSync } = await import("node:fs")
  mkdirSync(home.home.file("skills/weather"), { recursive: true })
  writeFileSync(home.home.file(".no-bundled-skills"), "")
  writeFileSync(home.home.file("skills/weather/SKILL.md"), skill(options))
  expect((await home.run(["skills", "config"])).out).toMatch(/weather\s+weather\.city\s+Rome\s+Where/u)
  expect(await home.run(["skills", "config", "weather", "weather.city", "Oslo"])).toMatchObject({
    code: 0,
    out: "Set weather.city of weather to Oslo.\n",
  })
  expect((await home.run(["skills", "config", "weather"])).out).toMatch(/weather\.city\s+Oslo/u)
  expect((await home.run(["skills", "config", "weather", "nope", "1"])).err).toContain("it has: weather.city")
  expect((await home.run(["skills", "config", "weather", "weather.city"])).err).toContain("value is missing")
  expect((await home.run(["skills", "config", "ghost"])).err).toContain("There is no skill ghost")
  const config = readFileSync(home.home.file("config.yaml"), "utf8")
  await using app = await assembleApp([VIEW_AND_USE[0] ?? says(""), says("ok")], {
    files: { ...NO_BUNDLE, "skills/weather/SKILL.md": skill(options) },
    config: config.slice(config.indexOf("skills:")),
  })
  await runToEnd(await app.open(), "go")
  expect(lastResult(app.model, 1)).toContain('"config":{"weather.city":"Oslo"}')
})
