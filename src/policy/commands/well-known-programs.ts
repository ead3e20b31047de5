/** Registries whose packages are programs that a command line can start. */
export type Registry = "npm" | "python" | "go" | "rust" | "ruby" | "dotnet" | "php"

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "))

/** Development tools that so many projects use that starting one says nothing about who asked for it. Names of packages. */
const PACKAGES: Readonly<Record<Registry, ReadonlySet<string>>> = {
  npm: words(
    "typescript ts-node tsx tsup tslib vite vitest vue-tsc next nuxt astro remix svelte-check webpack webpack-cli rollup esbuild parcel swc turbo nx lerna " +
      "eslint prettier stylelint oxlint oxfmt biome @biomejs/biome standard xo knip depcheck madge jscpd cspell markdownlint-cli markdownlint-cli2 publint " +
      "jest mocha ava tap nyc c8 cypress playwright @playwright/test @playwright/mcp puppeteer storybook sb chromatic lighthouse " +
      "husky lint-staged lefthook commitlint @commitlint/cli standard-version semantic-release release-it @changesets/cli changeset np simple-git-hooks " +
      "nodemon concurrently cross-env rimraf mkdirp npm-run-all npm-run-all2 wait-on serve http-server live-server browser-sync json-server local-web-server " +
      "npm pnpm yarn bun npm-check-updates npm-check depcheck license-checker source-map-explorer webpack-bundle-analyzer bundlephobia size-limit " +
      "prisma drizzle-kit typeorm sequelize sequelize-cli knex mikro-orm graphql-codegen @graphql-codegen/cli openapi-typescript @openapitools/openapi-generator-cli " +
      "tailwindcss @tailwindcss/cli postcss postcss-cli sass less autoprefixer shadcn shadcn-ui typedoc jsdoc documentation vitepress vuepress docusaurus " +
      "create-react-app create-vite create-next-app create-vue create-svelte create-astro create-nuxt create-nuxt-app create-remix create-react-router create-expo-app create-t3-app " +
      "create-solid create-qwik create-docusaurus create-turbo create-nx-workspace create-electron-app create-tauri-app create-eslint @eslint/create-config create-storybook sv nuxi degit " +
      "@angular/cli @vue/cli @nestjs/cli @ionic/cli @capacitor/cli @tauri-apps/cli @sveltejs/kit expo expo-cli eas-cli react-native electron electron-builder " +
      "vercel netlify-cli wrangler firebase-tools serverless cdk aws-cdk sst pm2 ts-prune ts-jest babel @babel/cli @babel/core @swc/cli @types/node " +
      "tsc-watch vite-node unbuild zx plop hygen yo taze syncpack sort-package-json envinfo browserslist update-browserslist-db dependency-cruiser all-contributors-cli jscodeshift react-scripts " +
      "@rspack/cli karma tslint ember-cli hardhat supabase gulp gulp-cli grunt grunt-cli commitizen auto-changelog conventional-changelog-cli semver gh-pages kill-port npkill tldr dotenv-cli " +
      "@redocly/cli @stoplight/spectral-cli @vscode/vsce web-ext @microsoft/api-extractor quicktype svgo autocannon artillery clinic pa11y html-validate htmlhint linkinator ts-unused-exports " +
      "@anthropic-ai/claude-code @openai/codex @google/gemini-cli " +
      "@modelcontextprotocol/inspector react react-dom vue svelte express",
  ),
  python: words(
    "ruff black isort flake8 pylint mypy pyright basedpyright pyre-check bandit pyupgrade autopep8 yapf codespell vulture pydocstyle interrogate docformatter " +
      "pytest pytest-cov pytest-xdist pytest-asyncio coverage tox nox hypothesis poetry uv pdm hatch hatchling rye pipenv pip-tools pip-audit pipdeptree virtualenv build twine flit " +
      "setuptools wheel pip pre-commit commitizen bumpversion bump2version bump-my-version cookiecutter copier towncrier mkdocs mkdocs-material sphinx " +
      "jupyter jupyterlab notebook ipython ipykernel nbconvert marimo streamlit httpie yt-dlp ansible ansible-core ansible-lint yamllint sqlfluff djlint " +
      "django flask fastapi uvicorn gunicorn aws-sam-cli awscli cmake ninja meson maturin cython numpy pandas requests rich httpx pyyaml",
  ),
  go: words(
    "github.com/golangci/golangci-lint github.com/go-delve/delve github.com/air-verse/air github.com/cosmtrek/air github.com/goreleaser/goreleaser github.com/golang-migrate/migrate " +
      "github.com/swaggo/swag github.com/sqlc-dev/sqlc github.com/google/wire github.com/golang/mock github.com/vektra/mockery github.com/securego/gosec github.com/bufbuild/buf " +
      "github.com/onsi/ginkgo github.com/pressly/goose github.com/a-h/templ github.com/segmentio/golines github.com/fatih/gomodifytags github.com/cweill/gotests github.com/josharian/impl " +
      "golang.org/x google.golang.org/protobuf google.golang.org/grpc honnef.co/go/tools mvdan.cc/gofumpt mvdan.cc/sh gotest.tools/gotestsum go.uber.org/mock go.uber.org/nilaway sigs.k8s.io/kind",
  ),
  rust: words(
    "ripgrep fd-find bat eza exa hyperfine tokei just watchexec-cli sd du-dust bottom git-delta starship zoxide cargo-watch cargo-edit cargo-nextest cargo-llvm-cov cargo-tarpaulin " +
      "cargo-audit cargo-deny cargo-expand cargo-outdated cargo-update cargo-udeps cargo-machete cargo-hack cargo-make cargo-generate cargo-release cargo-bloat cargo-flamegraph flamegraph " +
      "cargo-criterion cargo-fuzz cargo-insta cargo-mutants cargo-binstall cargo-sweep cargo-geiger cargo-msrv cargo-semver-checks cargo-vet cargo-zigbuild cross bacon sccache " +
      "wasm-pack wasm-bindgen-cli trunk mdbook sqlx-cli diesel_cli sea-orm-cli tauri-cli dioxus-cli leptosfmt typos-cli taplo-cli probe-rs-tools cbindgen bindgen-cli rust-script uv maturin",
  ),
  ruby: words(
    "bundler rails rake rspec rubocop rubocop-rails sinatra puma jekyll solargraph ruby-lsp pry irb minitest cocoapods fastlane foreman overcommit brakeman bundler-audit",
  ),
  dotnet: words(
    "dotnet-ef dotnet-format dotnet-script dotnet-trace dotnet-counters dotnet-dump dotnet-outdated-tool dotnet-reportgenerator-globaltool csharpier nbgv fantomas coverlet.console",
  ),
  php: words(
    "laravel/installer friendsofphp/php-cs-fixer phpstan/phpstan squizlabs/php_codesniffer phpunit/phpunit rector/rector vimeo/psalm symfony/cli",
  ),
}

/** Programs that have another name than the package of the project that contains them. */
const PROGRAMS: ReadonlySet<string> = words(
  "tsc tsserver dotenv rspack ember all-contributors openapi-generator-cli redocly spectral vsce api-extractor ng nest vue-cli-service ncu changeset commitlint cz run-s run-p depcruise gulp grunt firebase netlify eas graphql-codegen markdownlint cap ionic babel rescript",
)

export function isWellKnownPackage(name: string, registry: Registry): boolean {
  if (registry === "go") return [...PACKAGES.go].some((module) => name === module || name.startsWith(`${module}/`))
  return PACKAGES[registry].has(registry === "python" ? name.toLowerCase().replaceAll("_", "-") : name)
}

/** A name without a version is that of a program, which is usually installed in the project. */
export function isWellKnownProgram(name: string): boolean {
  return PROGRAMS.has(name) || PACKAGES.npm.has(name)
}
