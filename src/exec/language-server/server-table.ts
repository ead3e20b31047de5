import { join } from "node:path"

/** A language server: which files it knows, how it is started and how one gets it. */
export interface LanguageServer {
  readonly name: string
  /** Language id by file ending (`.ts`) or by whole file name (`Dockerfile`). */
  readonly languages: Readonly<Record<string, string>>
  /** Tried in this order; the first that is found is started. */
  readonly programs: readonly ServerProgram[]
  /** Files that mark the root of what the server should look at; the nearest directory with one counts. */
  readonly roots: readonly string[]
  readonly install: ServerInstall
  /**
   * It builds the project or runs parts of it (build scripts, macros, plugins, an interpreter that its settings name), so writing a
   * file could run a command that nobody allowed. Such a server is started only inside the sandbox, or where the person trusts it.
   */
  readonly runsProject?: true
  /** Sent with `initialize`; `modules` is the directory of the packages that Hermes has installed. */
  readonly options?: (modules: string) => Readonly<Record<string, unknown>>
  /** What the server gets when it asks for its settings. */
  readonly settings?: Readonly<Record<string, unknown>>
}

export interface ServerProgram {
  readonly program: string
  readonly args: readonly string[]
  /** The program speaks the protocol only from this major version of its npm package on. */
  readonly since?: { readonly package: string; readonly major: number }
  /** As for the whole server. */
  readonly runsProject?: true
}

export type ServerInstall =
  | { readonly kind: "npm"; readonly packages: readonly string[] }
  /** A sentence for the person. */
  | { readonly kind: "by-hand"; readonly how: string }

const stdio = (program: string): ServerProgram => ({ program, args: ["--stdio"] })
const plain = (program: string, ...args: readonly string[]): ServerProgram => ({ program, args })
const npm = (...packages: readonly string[]): ServerInstall => ({ kind: "npm", packages })
const byHand = (how: string): ServerInstall => ({ kind: "by-hand", how })
const same = (language: string, endings: string): Record<string, string> =>
  Object.fromEntries(endings.split(" ").map((ending) => [ending, language]))

const NODE_ROOTS = ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"]
/** Servers that are themselves written against TypeScript 5 find it under this name, beside whatever version is called `typescript`. */
const TYPESCRIPT_5 = "typescript-5"
const TYPESCRIPT_5_PACKAGE = `${TYPESCRIPT_5}@npm:typescript@5`
const typescript5 = (modules: string): string => join(modules, TYPESCRIPT_5, "lib")

/** The first entry that knows a file serves it. */
export const LANGUAGE_SERVERS: readonly LanguageServer[] = [
  {
    name: "typescript",
    languages: {
      ...same("typescript", ".ts .mts .cts"),
      ...same("javascript", ".js .mjs .cjs"),
      ".tsx": "typescriptreact",
      ".jsx": "javascriptreact",
    },
    programs: [
      { program: "tsc", args: ["--lsp", "--stdio"], since: { package: "typescript", major: 7 } },
      // It takes the project's own TypeScript where there is one.
      { ...stdio("typescript-language-server"), runsProject: true },
    ],
    roots: NODE_ROOTS,
    install: npm("typescript@>=7"),
    options: (modules) => ({ tsserver: { fallbackPath: join(typescript5(modules), "tsserver.js") } }),
  },
  {
    name: "pyright",
    languages: same("python", ".py .pyi"),
    programs: [stdio("pyright-langserver"), stdio("basedpyright-langserver")],
    roots: ["pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"],
    install: npm("pyright"),
    runsProject: true,
  },
  {
    name: "vue",
    languages: { ".vue": "vue" },
    programs: [stdio("vue-language-server")],
    roots: NODE_ROOTS,
    install: npm("@vue/language-server@2", TYPESCRIPT_5_PACKAGE),
    runsProject: true,
    options: (modules) => ({ typescript: { tsdk: typescript5(modules) }, vue: { hybridMode: false } }),
  },
  {
    name: "svelte",
    languages: { ".svelte": "svelte" },
    programs: [stdio("svelteserver")],
    roots: NODE_ROOTS,
    install: npm("svelte-language-server"),
    runsProject: true,
  },
  {
    name: "astro",
    languages: { ".astro": "astro" },
    programs: [stdio("astro-ls")],
    roots: NODE_ROOTS,
    install: npm("@astrojs/language-server", TYPESCRIPT_5_PACKAGE),
    runsProject: true,
    options: (modules) => ({ typescript: { tsdk: typescript5(modules) } }),
  },
  {
    name: "gopls",
    languages: { ".go": "go" },
    programs: [plain("gopls")],
    roots: ["go.work", "go.mod"],
    install: byHand("go install golang.org/x/tools/gopls@latest"),
  },
  {
    name: "rust-analyzer",
    languages: { ".rs": "rust" },
    programs: [plain("rust-analyzer")],
    roots: ["Cargo.toml"],
    install: byHand("rustup component add rust-analyzer"),
    runsProject: true,
  },
  {
    name: "clangd",
    languages: { ".c": "c", ...same("cpp", ".cc .cpp .cxx .h .hh .hpp .hxx") },
    programs: [plain("clangd")],
    roots: ["compile_commands.json", "compile_flags.txt", ".clangd"],
    install: byHand("install the package clangd of your system"),
  },
  {
    name: "bash",
    languages: same("shellscript", ".sh .bash .zsh .ksh"),
    programs: [plain("bash-language-server", "start")],
    roots: [],
    install: npm("bash-language-server"),
  },
  {
    name: "yaml",
    languages: same("yaml", ".yaml .yml"),
    programs: [stdio("yaml-language-server")],
    roots: [],
    install: npm("yaml-language-server"),
    // Its list of schemas comes from the network, which nobody asked for.
    settings: { yaml: { schemaStore: { enable: false } } },
  },
  {
    name: "lua",
    languages: { ".lua": "lua" },
    programs: [plain("lua-language-server")],
    roots: [".luarc.json", ".luarc.jsonc"],
    install: byHand("install lua-language-server, see luals.github.io"),
  },
  {
    name: "intelephense",
    languages: { ".php": "php" },
    programs: [stdio("intelephense")],
    roots: ["composer.json"],
    install: npm("intelephense"),
  },
  {
    name: "ocaml",
    languages: { ".ml": "ocaml", ".mli": "ocaml.interface" },
    programs: [plain("ocamllsp")],
    roots: ["dune-project", "dune-workspace"],
    install: byHand("opam install ocaml-lsp-server"),
    runsProject: true,
  },
  {
    name: "dockerfile",
    languages: { ".dockerfile": "dockerfile", Dockerfile: "dockerfile", Containerfile: "dockerfile" },
    programs: [stdio("docker-langserver")],
    roots: [],
    install: npm("dockerfile-language-server-nodejs"),
  },
  {
    name: "terraform",
    languages: { ".tf": "terraform", ".tfvars": "terraform-vars" },
    programs: [plain("terraform-ls", "serve")],
    roots: [".terraform.lock.hcl"],
    install: byHand("install terraform-ls of HashiCorp"),
    runsProject: true,
  },
  {
    name: "dart",
    languages: { ".dart": "dart" },
    programs: [plain("dart", "language-server", "--protocol=lsp")],
    roots: ["pubspec.yaml"],
    install: byHand("install the Dart or Flutter SDK; the server is part of it"),
    runsProject: true,
  },
  {
    name: "haskell",
    languages: same("haskell", ".hs .lhs"),
    programs: [plain("haskell-language-server-wrapper", "--lsp")],
    roots: ["hie.yaml", "cabal.project", "stack.yaml", "package.yaml"],
    install: byHand("ghcup install hls"),
    runsProject: true,
  },
  {
    name: "julia",
    languages: { ".jl": "julia" },
    programs: [
      plain("julia", "--startup-file=no", "--history-file=no", "--quiet", "-e", "using LanguageServer; runserver()"),
    ],
    roots: ["Project.toml"],
    install: byHand(`julia -e 'using Pkg; Pkg.add("LanguageServer")'`),
    runsProject: true,
  },
  {
    name: "clojure",
    languages: same("clojure", ".clj .cljs .cljc .edn"),
    programs: [plain("clojure-lsp")],
    roots: ["deps.edn", "project.clj", "shadow-cljs.edn", "bb.edn"],
    install: byHand("install clojure-lsp, see clojure-lsp.io"),
    runsProject: true,
  },
  {
    name: "nixd",
    languages: { ".nix": "nix" },
    programs: [plain("nixd")],
    roots: ["flake.nix"],
    install: byHand("nix profile install nixpkgs#nixd"),
    runsProject: true,
  },
  {
    name: "zls",
    languages: same("zig", ".zig .zon"),
    programs: [plain("zls")],
    roots: ["build.zig"],
    install: byHand("install zls of the version of your Zig, see zigtools.org"),
    runsProject: true,
  },
  {
    name: "gleam",
    languages: { ".gleam": "gleam" },
    programs: [plain("gleam", "lsp")],
    roots: ["gleam.toml"],
    install: byHand("install Gleam; the server is part of it"),
    runsProject: true,
  },
  {
    name: "elixir",
    languages: same("elixir", ".ex .exs"),
    programs: [plain("elixir-ls"), plain("language_server.sh")],
    roots: ["mix.exs"],
    install: byHand("install elixir-ls and put elixir-ls on your PATH"),
    runsProject: true,
  },
  {
    name: "prisma",
    languages: { ".prisma": "prisma" },
    programs: [stdio("prisma-language-server")],
    roots: [],
    install: npm("@prisma/language-server"),
  },
  {
    name: "kotlin",
    languages: same("kotlin", ".kt .kts"),
    programs: [stdio("kotlin-lsp"), plain("kotlin-language-server")],
    roots: ["settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle", "pom.xml"],
    install: byHand("install kotlin-lsp of JetBrains"),
    runsProject: true,
  },
  {
    name: "jdtls",
    languages: { ".java": "java" },
    programs: [plain("jdtls")],
    roots: ["settings.gradle", "settings.gradle.kts", "pom.xml", "build.gradle", "build.gradle.kts"],
    install: byHand("install jdtls of Eclipse and put it on your PATH"),
    runsProject: true,
  },
]
