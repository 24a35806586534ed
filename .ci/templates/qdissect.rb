class Qdissect < Formula
  desc "$DESCRIPTION"
  homepage "$HOMEPAGE"
  version "$VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "$RELEASE/qdissect-$VERSION-aarch64-apple-darwin.tar.gz"
      sha256 "$SHA256_aarch64_apple_darwin"
    end
    on_intel do
      url "$RELEASE/qdissect-$VERSION-x86_64-apple-darwin.tar.gz"
      sha256 "$SHA256_x86_64_apple_darwin"
    end
  end

  on_linux do
    on_arm do
      url "$RELEASE/qdissect-$VERSION-aarch64-unknown-linux-musl.tar.gz"
      sha256 "$SHA256_aarch64_unknown_linux_musl"
    end
    on_intel do
      url "$RELEASE/qdissect-$VERSION-x86_64-unknown-linux-musl.tar.gz"
      sha256 "$SHA256_x86_64_unknown_linux_musl"
    end
  end

  def install
    bin.install "qdissect"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/qdissect.bash" => "qdissect"
    zsh_completion.install "completions/_qdissect"
    fish_completion.install "completions/qdissect.fish"
  end

  test do
    assert_match "sqp", shell_output("#{bin}/qdissect hex '00 00000000'")
  end
end
