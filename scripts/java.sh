#!/usr/bin/env bash
# Checks for Java 17 or newer, as Spark will find it. Installs it where that needs no question:
# apt-get and root, or sudo without a password. Says nothing when all is well.
set -euo pipefail

least=17

# The major version of a java command; "1.8.0" is Java 8.
major() {
  "$1" -version 2>&1 | sed -nE 's/.*version "(1\.)?([0-9]+).*/\2/p' | head -n 1
}

fits() {
  local found
  found=$(major "$1" || true)
  [[ -n "$found" && "$found" -ge "$least" ]]
}

# Spark takes JAVA_HOME before PATH, so a JAVA_HOME that does not fit cannot be passed over.
if [[ -n "${JAVA_HOME:-}" ]]; then
  if [[ -x "$JAVA_HOME/bin/java" ]] && fits "$JAVA_HOME/bin/java"; then exit 0; fi
  echo "JAVA_HOME ($JAVA_HOME) holds no Java $least or newer: point it to one, or unset it." >&2
  exit 1
fi
if command -v java >/dev/null && fits java; then exit 0; fi

if [[ $(id -u) -eq 0 ]]; then root=(); elif sudo -n true 2>/dev/null; then root=(sudo -n); else root=(none); fi
if [[ "${root[*]-}" != none ]] && command -v apt-get >/dev/null; then
  echo "Installing Java (openjdk-17-jre-headless) with apt-get" >&2
  log=$(mktemp)
  install() {
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "$1" >>"$log" 2>&1
  }
  "${root[@]}" apt-get update -qq >"$log" 2>&1 || true
  if install openjdk-17-jre-headless || install default-jre-headless; then
    hash -r
    if command -v java >/dev/null && fits java; then rm -f "$log"; exit 0; fi
  fi
  tail -n 5 "$log" >&2
  rm -f "$log"
fi
echo "Java $least or newer is needed: install it (e.g. openjdk-17-jre-headless) or set JAVA_HOME." >&2
exit 1
