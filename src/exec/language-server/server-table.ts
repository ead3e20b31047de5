import { join } from "node:path"

/** A language server: the files it handles, how to start it and how to install it. */
export interface LanguageServer {
  readonly name: string
  /** Language id by file extension (`.ts`) or by whole file name (`Dockerfile`). */
  readonly languages: Readonly<Record<string, string>>
  /** In order of preference; the first one found is started. */
  readonly programs: readonly ServerProgram[]
  /** File names that mark the server's root directory; the nearest directory that contains one is used. */
  readonly rootMarkers: readonly string[]
  readonly install: ServerInstall
  /**
   * It executes project code (build scripts, macros, plugins, an interpreter named in the project's settings), so writing a file
   * could run a command without approval. It is started only inside the sandbox, unless the user trusts it.
   */
  readonly runsProjectCode?: true
  /** Options for `initialize`; `modules` is the directory of the packages that Hermes has installed. */
  readonly defaultInitializationOptions?: (modules: string) => Readonly<Record<string, unknown>>
  /** Response to `workspace/configuration` requests. */
  readonly settings?: Readonly<Record<string, unknown>>
}

export interface ServerProgram {
  readonly program: string
  readonly args: readonly string[]
  /** First major version of the npm package whose program supports the protocol. */
  readonly since?: { readonly package: string; readonly major: number }
  /** See `LanguageServer.runsProjectCode`. */
  readonly runsProjectCode?: true
}

export type ServerInstall =
  | { readonly kind: "npm"; readonly packages: readonly string[] }
  /** A command or sentence for the user. */
  | { readonly kind: "manual"; readonly instructions: string }

const stdio = (program: string): ServerProgram => ({ program, args: ["--stdio"] })
const plain = (program: string, ...args: readonly string[]): ServerProgram => ({ program, args })
const npm = (...packages: readonly string[]): ServerInstall => ({ kind: "npm", packages })
const manual = (instructions: string): ServerInstall => ({ kind: "manual", instructions })
const same = (language: string, extensions: string): Record<string, string> =>
  Object.fromEntries(extensions.split(" ").map((extension) => [extension, language]))

const NODE_ROOTS = ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"]
/** Package alias for servers that need TypeScript 5, so that it can be installed next to another `typescript` version. */
const TYPESCRIPT_5 = "typescript-5"
const TYPESCRIPT_5_PACKAGE = `${TYPESCRIPT_5}@npm:typescript@5`
const typescript5 = (modules: string): string => join(modules, TYPESCRIPT_5, "lib")

/** The first entry that handles a file is used. */
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
      // It loads the project's own TypeScript, if installed.
      { ...stdio("typescript-language-server"), runsProjectCode: true },
    ],
    rootMarkers: NODE_ROOTS,
    install: npm("typescript@>=7"),
    defaultInitializationOptions: (modules) => ({
      tsserver: { fallbackPath: join(typescript5(modules), "tsserver.js") },
    }),
  },
  {
    name: "pyright",
    languages: same("python", ".py .pyi"),
    programs: [stdio("pyright-langserver"), stdio("basedpyright-langserver")],
    rootMarkers: ["pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"],
    install: npm("pyright"),
    runsProjectCode: true,
  },
  {
    name: "vue",
    languages: { ".vue": "vue" },
    programs: [stdio("vue-language-server")],
    rootMarkers: NODE_ROOTS,
    install: npm("@vue/language-server@2", TYPESCRIPT_5_PACKAGE),
    runsProjectCode: true,
    defaultInitializationOptions: (modules) => ({
      typescript: { tsdk: typescript5(modules) },
      vue: { hybridMode: false },
    }),
  },
  {
    name: "svelte",
    languages: { ".svelte": "svelte" },
    programs: [stdio("svelteserver")],
    rootMarkers: NODE_ROOTS,
    install: npm("svelte-language-server"),
    runsProjectCode: true,
  },
  {
    name: "astro",
    languages: { ".astro": "astro" },
    programs: [stdio("astro-ls")],
    rootMarkers: NODE_ROOTS,
    install: npm("@astrojs/language-server", TYPESCRIPT_5_PACKAGE),
    runsProjectCode: true,
    defaultInitializationOptions: (modules) => ({ typescript: { tsdk: typescript5(modules) } }),
  },
  {
    name: "gopls",
    languages: { ".go": "go" },
    programs: [plain("gopls")],
    rootMarkers: ["go.work", "go.mod"],
    install: manual("go install golang.org/x/tools/gopls@latest"),
  },
  {
    name: "rust-analyzer",
    languages: { ".rs": "rust" },
    programs: [plain("rust-analyzer")],
    rootMarkers: ["Cargo.toml"],
    install: manual("rustup component add rust-analyzer"),
    runsProjectCode: true,
  },
  {
    name: "clangd",
    languages: { ".c": "c", ...same("cpp", ".cc .cpp .cxx .h .hh .hpp .hxx") },
    programs: [plain("clangd")],
    rootMarkers: ["compile_commands.json", "compile_flags.txt", ".clangd"],
    install: manual("install the clangd package of your operating system"),
  },
  {
    name: "bash",
    languages: same("shellscript", ".sh .bash .zsh .ksh"),
    programs: [plain("bash-language-server", "start")],
    rootMarkers: [],
    install: npm("bash-language-server"),
  },
  {
    name: "yaml",
    languages: same("yaml", ".yaml .yml"),
    programs: [stdio("yaml-language-server")],
    rootMarkers: [],
    install: npm("yaml-language-server"),
    // The schema store would be downloaded from the network.
    settings: { yaml: { schemaStore: { enable: false } } },
  },
  {
    name: "lua",
    languages: { ".lua": "lua" },
    programs: [plain("lua-language-server")],
    rootMarkers: [".luarc.json", ".luarc.jsonc"],
    install: manual("install lua-language-server, see luals.github.io"),
  },
  {
    name: "intelephense",
    languages: { ".php": "php" },
    programs: [stdio("intelephense")],
    rootMarkers: ["composer.json"],
    install: npm("intelephense"),
  },
  {
    name: "ocaml",
    languages: { ".ml": "ocaml", ".mli": "ocaml.interface" },
    programs: [plain("ocamllsp")],
    rootMarkers: ["dune-project", "dune-workspace"],
    install: manual("opam install ocaml-lsp-server"),
    runsProjectCode: true,
  },
  {
    name: "dockerfile",
    languages: { ".dockerfile": "dockerfile", Dockerfile: "dockerfile", Containerfile: "dockerfile" },
    programs: [stdio("docker-langserver")],
    rootMarkers: [],
    install: npm("dockerfile-language-server-nodejs"),
  },
  {
    name: "terraform",
    languages: { ".tf": "terraform", ".tfvars": "terraform-vars" },
    programs: [plain("terraform-ls", "serve")],
    rootMarkers: [".terraform.lock.hcl"],
    install: manual("install terraform-ls from HashiCorp"),
    runsProjectCode: true,
  },
  {
    name: "dart",
    languages: { ".dart": "dart" },
    programs: [plain("dart", "language-server", "--protocol=lsp")],
    rootMarkers: ["pubspec.yaml"],
    install: manual("install the Dart or Flutter SDK, which includes the server"),
    runsProjectCode: true,
  },
  {
    name: "haskell",
    languages: same("haskell", ".hs .lhs"),
    programs: [plain("haskell-language-server-wrapper", "--lsp")],
    rootMarkers: ["hie.yaml", "cabal.project", "stack.yaml", "package.yaml"],
    install: manual("ghcup install hls"),
    runsProjectCode: true,
  },
  {
    name: "julia",
    languages: { ".jl": "julia" },
    programs: [
      plain("julia", "--startup-file=no", "--history-file=no", "--quiet", "-e", "using LanguageServer; runserver()"),
    ],
    rootMarkers: ["Project.toml"],
    install: manual(`julia -e 'using Pkg; Pkg.add("LanguageServer")'`),
    runsProjectCode: true,
  },
  {
    name: "clojure",
    languages: same("clojure", ".clj .cljs .cljc .edn"),
    programs: [plain("clojure-lsp")],
    rootMarkers: ["deps.edn", "project.clj", "shadow-cljs.edn", "bb.edn"],
    install: manual("install clojure-lsp, see clojure-lsp.io"),
    runsProjectCode: true,
  },
  {
    name: "nixd",
    languages: { ".nix": "nix" },
    programs: [plain("nixd")],
    rootMarkers: ["flake.nix"],
    install: manual("nix profile install nixpkgs#nixd"),
    runsProjectCode: true,
  },
  {
    name: "zls",
    languages: same("zig", ".zig .zon"),
    programs: [plain("zls")],
    rootMarkers: ["build.zig"],
    install: manual("install the zls version that matches your Zig, see zigtools.org"),
    runsProjectCode: true,
  },
  {
    name: "gleam",
    languages: { ".gleam": "gleam" },
    programs: [plain("gleam", "lsp")],
    rootMarkers: ["gleam.toml"],
    install: manual("install Gleam, which includes the server"),
    runsProjectCode: true,
  },
  {
    name: "elixir",
    languages: same("elixir", ".ex .exs"),
    programs: [plain("elixir-ls"), plain("language_server.sh")],
    rootMarkers: ["mix.exs"],
    install: manual("install elixir-ls and put elixir-ls on your PATH"),
    runsProjectCode: true,
  },
  {
    name: "prisma",
    languages: { ".prisma": "prisma" },
    programs: [stdio("prisma-language-server")],
    rootMarkers: [],
    install: npm("@prisma/language-server"),
  },
  {
    name: "kotlin",
    languages: same("kotlin", ".kt .kts"),
    programs: [stdio("kotlin-lsp"), plain("kotlin-language-server")],
    rootMarkers: ["settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle", "pom.xml"],
    install: manual("install kotlin-lsp from JetBrains"),
    runsProjectCode: true,
  },
  {
    name: "jdtls",
    languages: { ".java": "java" },
    programs: [plain("jdtls")],
    rootMarkers: ["settings.gradle", "settings.gradle.kts", "pom.xml", "build.gradle", "build.gradle.kts"],
    install: manual("install jdtls from Eclipse and put it on your PATH"),
    runsProjectCode: true,
  },
]
