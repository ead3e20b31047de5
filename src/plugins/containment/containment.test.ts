import { mkdirSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { exit } from "node:process"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import { isClaimed } from "../../base/uncaught-error.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { containedObject } from "./contained-object.ts"
import { createContainment } from "./containment.ts"
import type { Containment, PluginBoundary } from "./containment.ts"
import { clearStopped, stoppedReason } from "./stopped-plugins.ts"

interface Contained extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly containment: Containment
  readonly faults: readonly string[]
  readonly boundary: (key: string) => PluginBoundary
}

async function contain(...keys: readonly string[]): Promise<Contained> {
  const home = await temporaryHome()
  const faults: string[] = []
  const plugins = keys.map((key) => ({ key, directory: join(home.path, "plugins", key) }))
  for (const { directory } of plugins) mkdirSync(directory, { recursive: true })
  const containment = createContainment(plugins, {
    home: resolveHome(environmentFrom(home.env)),
    limitMs: 600,
    onFault: (key, { text }) => {
      faults.push(`${key}: ${text}`)
    },
  })
  return {
    home,
    containment,
    faults,
    boundary: (key) => {
      const found = containment.boundaries.get(key)
      if (found === undefined) throw new Error(`there is no plugin ${key}`)
      return found
    },
    [Symbol.asyncDispose]: async () => {
      await containment.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

test("a call returns and throws what the plugin returns and throws, also inside another call", async () => {
  await using contained = await contain("a", "b")
  const [a, b] = [contained.boundary("a"), contained.boundary("b")]
  expect(a.call("x", () => b.call("y", () => 7) + 1)).toBe(8)
  const error = new TypeError("own error")
  expect(() => a.call("x", () => b.call("y", () => { throw error }))).toThrow(error) // oxfmt-ignore
  await expect(a.call("x", () => Promise.reject(error))).rejects.toBe(error)
  expect(contained.faults).toEqual([])
})

test("a blocked call is stopped, its plugin is disabled and marked, and the one around it goes on", async () => {
  await using contained = await contain("outer", "inner/x")
  const outcome = contained.boundary("outer").call("a hook", () => {
    try {
      contained.boundary("inner/x").call("a tool", () => {
        for (;;);
      })
    } catch (error) {
      return String(error)
    }
    return "not reached"
  })
  expect(outcome).toMatch(/PluginFault: the plugin inner\/x is disabled for this run: it blocked Hermes/u)
  expect(contained.faults).toEqual([
    expect.stringMatching(/^inner\/x: it blocked Hermes for more than 0\.6 s in a tool/u),
  ])
  expect(() => contained.boundary("inner/x").call("again", () => 1)).toThrow(/disabled for this run/u)
  expect(contained.boundary("outer").fault()).toBeUndefined()
  const home = resolveHome(environmentFrom(contained.home.env))
  expect(stoppedReason(home, "inner/x")).toContain("`hermes plugins enable inner/x`")
  clearStopped(home, "inner/x")
  expect(stoppedReason(home, "inner/x")).toBeUndefined()
})

test("ending the process is refused to a plugin, also later and in listeners of the process", async () => {
  await using contained = await contain("a", "b")
  await contained.boundary("a").call("register", async () => {
    await Promise.resolve()
    expect(() => exit(3)).toThrow(/it called process\.exit in register/u)
  })
  const file = join(contained.home.path, "plugins/b/index.cjs")
  writeFileSync(file, "module.exports = () => process.abort()\n")
  const listener: unknown = createRequire(import.meta.url)(file)
  expect(() => { if (typeof listener === "function") listener() }).toThrow(/it called process\.abort/u) // oxfmt-ignore
  expect(contained.faults).toEqual(["a: it called process.exit in register", "b: it called process.abort"])
})

test("an error nobody handles belongs to the plugin in whose work it was thrown, and otherwise to nobody", async () => {
  await using contained = await contain("a")
  const boundary = contained.boundary("a")
  expect(isClaimed(new Error("of Hermes"))).toBe(false)
  boundary.outside(() => {
    expect(isClaimed(new Error("of Hermes, for a plugin"))).toBe(false)
  })
  boundary.call("a hook", () => boundary.outside(() => expect(isClaimed(new Error("of Hermes"))).toBe(false)))
  boundary.call("a hook", () => expect(isClaimed({ get message() { throw new Error("unreadable") } })).toBe(true)) // oxfmt-ignore
  expect(contained.faults).toEqual([expect.stringContaining("background work was not handled")])
})

test("two apps can contain plugins at once, and they can be closed in any order", async () => {
  const first = await contain("a")
  const second = await contain("b")
  await first[Symbol.asyncDispose]()
  expect(() => second.boundary("b").call("x", () => process.exit(1))).toThrow(/plugin b is disabled/u)
  await second[Symbol.asyncDispose]()
  const third = await contain("c")
  expect(() => third.boundary("c").call("x", () => process.exit(1))).toThrow(/plugin c is disabled/u)
  await third[Symbol.asyncDispose]()
})

test("methods of a frozen object are called on the object, and its data is read as it is", async () => {
  await using contained = await contain("a")
  const provider = Object.freeze({ name: "notes", size: 3, double() { return this.size * 2 } }) // oxfmt-ignore
  const object = containedObject(provider, "its provider", contained.boundary("a"))
  expect([object.name, object.double(), "size" in object, "other" in object]).toEqual(["notes", 6, true, false])
})
