package main

import (
	"strings"
	"testing"
)

const tinyPluginTests = `package p

func TestNormalizeScore(t *T) {
	for range cases {
		pl := &DynamicResources{
			enabled: true,
		}
		_ = pl
	}
}

func TestOther(t *T) { _ = &DynamicResources{} }
`

func TestOnlyTheListedTestsMakeOurPlugin(t *testing.T) {
	got, err := replaceOwnPlugins("p_test.go", []byte(tinyPluginTests))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("pl := &DynamicResources{", "pl := drayFrom(&DynamicResources{", "true,\n\t\t}", "true,\n\t\t})").Replace(tinyPluginTests)
	if string(got) != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestATestThatMakesMoreOrFewerPluginsIsRefused(t *testing.T) {
	for name, replace := range map[string][2]string{
		"more":          {"_ = pl", "_ = &DynamicResources{}"},
		"fewer":         {"&DynamicResources{\n", "&Other{\n"},
		"not a pointer": {"&DynamicResources{\n", "DynamicResources{\n"},
	} {
		src := strings.Replace(tinyPluginTests, replace[0], replace[1], 1)
		if _, err := replaceOwnPlugins("p_test.go", []byte(src)); err == nil || !strings.Contains(err.Error(), "TestNormalizeScore") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAnchorsAreThereAsOftenAsExpected(t *testing.T) {
	got, err := replaceAnchors([]byte("a b a"), []anchor{{"a", 2, "b"}, {"b", 3, "c"}})
	if err != nil || string(got) != "c c c" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := replaceAnchors([]byte("a b a"), []anchor{{"a", 1, "b"}}); err == nil {
		t.Error("an anchor that is there too often was accepted")
	}
	if _, err := replaceAnchors([]byte("a b a"), []anchor{{"c", 1, "b"}}); err == nil {
		t.Error("a missing anchor was accepted")
	}
}

// knownTests are all that the lists name.
func knownTests() map[string]bool {
	known := map[string]bool{"TestPlugin": true}
	for _, test := range portedTests {
		known[test] = true
	}
	for _, left := range leftOut {
		for _, test := range left.tests {
			known[test] = true
		}
	}
	return known
}

func TestEachTestOfThePackageIsKnown(t *testing.T) {
	if err := checkPluginTests(knownTests()); err != nil {
		t.Error(err)
	}
	more, fewer := knownTests(), knownTests()
	more["TestNew"] = true
	delete(fewer, "TestNormalizeScore")
	if err := checkPluginTests(more); err == nil || !strings.Contains(err.Error(), "TestNew") {
		t.Errorf("one test more: %v", err)
	}
	if err := checkPluginTests(fewer); err == nil || !strings.Contains(err.Error(), "TestNormalizeScore") {
		t.Errorf("one test fewer: %v", err)
	}
	for test := range ownPlugins {
		if !knownTests()[test] {
			t.Errorf("%s makes a plugin of its own and is in no list", test)
		}
	}
}
