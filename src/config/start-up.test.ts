import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"

/** The packages a fresh process loads while it reads the settings. */
function packagesLoaded(env: Readonly<Record<string, string>>): string[] {
  const file = (name: string) => JSON.stringify(join(import.meta.dirname, name))
  const script = `
    import { registerHooks } from "node:module"
    const packages = new Set()
    registerHooks({ resolve: (specifier, context, next) => {
      if (!/^([./]|node:|file:)/.test(specifier) && !context.parentURL?.includes("node_modules")) packages.add(specifier)
      return next(specifier, context)
    } })
    const { chooseProfile } = await import(${file("profiles/profile-choice.ts")})
    const { processEnvironment } = await import(${file("environment.ts")})
    const { loadConfig } = await import(${file("load-config.ts")})
    const chosen = chooseProfile([], processEnvironment())
    await loadConfig(chosen.value)
    process.stdout.write(JSON.stringify([...packages]))
  `
  const child = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], { env, encoding: "utf8" })
  return JSON.parse(child.stdout) as string[]
}

test("the YAML library is loaded only for a file that changed since it was last read", async () => {
  await using fixture = await temporaryHome()
  mkdirSync(join(fixture.path, "cache"))
  const without = packagesLoaded(fixture.env)
  writeFileSync(join(fixture.path, "config.yaml"), "model: x\n")
  const first = packagesLoaded(fixture.env)
  const second = packagesLoaded(fixture.env)
  expect([without, first, second]).toEqual([[], ["yaml"], []])
})
