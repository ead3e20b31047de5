import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { hiddenPaths } from "./hidden-paths.ts"
import { mentionsLogin } from "./settings-with-logins.ts"

test.each([
  ["username: ann\npassword: geheim", true],
  ["-- username:\n-- password:\nremote-repo: hackage.haskell.org", false],
  ['[env]\nGITHUB_TOKEN = "ghp_123"', true],
  ['[env]\nGITHUB_TOKEN = { value = "ghp_123", redact = true }', true],
  ['[env]\nNPM_TOKEN = "{{ env.NPM_TOKEN }}"\n', false],
  ['[tools]\nnode = "22"\n[env]\nEDITOR = "vim"', false],
  ['credentials { username "a"; password "geheim" }', true],
  ['credentials {\n  password = "geheim"\n}', true],
  ['password = System.getenv("PASSWORD")', false],
  ["password = providers.gradleProperty('x').get()", false],
  ["setPassword('geheim')", true],
  ["// password = 'geheim'", false],
  ['[registries.a]\ntoken = "abc"', true],
  ['[registry]\nglobal-credential-providers = ["cargo:token"]', false],
  ["channels:\n  - https://conda.example/t/ab-12345678-cd/main", true],
  ['maven { url "https://ann:geheim@repo.example/m2" }', true],
  ['maven { url "https://repo.example/m2" }', false],
  ["proxy = 'http://proxy.example:8080'", false],
])("%j has a login: %s", (text, expected) => {
  expect(mentionsLogin(text)).toBe(expected)
})

test("settings are hidden while they have a login, and files that only hold logins always", async () => {
  await using home = await temporaryHome()
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(home.userHome, name)), { recursive: true })
    writeFileSync(join(home.userHome, name), text)
  }
  const hidden = (): readonly string[] => {
    const paths = hiddenPaths({ userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path })
    const names = [".cabal/config", ".config/mise/conf.d/a.toml", ".hex/hex.config", ".nuget/NuGet.Config"]
    return names.filter((name) => paths.hidden.includes(join(home.userHome, name)))
  }
  write(".hex/hex.config", '{<<"$write_key">>, nil}.')
  write(".nuget/NuGet.Config", "<configuration/>")
  write(".cabal/config", "-- password:\n")
  write(".config/mise/conf.d/a.toml", '[tools]\nnode = "22"\n')
  expect(hidden()).toEqual([".hex/hex.config", ".nuget/NuGet.Config"])
  write(".cabal/config", "password: geheim\n")
  write(".config/mise/conf.d/a.toml", '[env]\nA_TOKEN = "x"\n')
  expect(hidden()).toHaveLength(4)
  write(".cabal/config", "jobs: 2\n")
  rmSync(join(home.userHome, ".config/mise/conf.d/a.toml"))
  expect(hidden()).toEqual([".hex/hex.config", ".nuget/NuGet.Config"])
})
