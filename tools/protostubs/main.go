// Command protostubs writes the Go code of a .proto file beside it, or to the folder after
// -o: messages and gRPC stubs, each to a file named zz_generated. It compiles the file
// itself, and runs the plugins that tools/go.mod pins, so no protoc is needed.
//
//	go -C tools run ./protostubs [-o DIR] FILE.proto
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// plugins are the generators, by the names of their tool directives.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	out := flag.String("o", "", "folder to write to, if not that of the file")
	flag.Parse()
	if err := run(context.Background(), flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "protostubs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file, out string) error {
	if file == "" {
		return errors.New("no .proto file is named")
	}
	dir, name := filepath.Split(file)
	if out == "" {
		out = dir
	}
	request, err := compile(ctx, dir, name)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		response, err := generate(ctx, plugin, request)
		if err != nil {
			return err
		}
		for _, f := range response.GetFile() {
			to := filepath.Join(out, "zz_generated."+f.GetName())
			if err := os.WriteFile(to, []byte(f.GetContent()), 0o644); err != nil {
				return fmt.Errorf("writing generated code: %w", err)
			}
		}
	}
	return nil
}

// compile returns the request to a plugin for the file name in the folder dir.
func compile(ctx context.Context, dir, name string) ([]byte, error) {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard, // comments
	}
	files, err := compiler.Compile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", name, err)
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name}, Parameter: new("paths=source_relative"),
		ProtoFile: []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the request for the plugins: %w", err)
	}
	return request, nil
}

// generate runs a plugin.
func generate(ctx context.Context, plugin string, request []byte) (*pluginpb.CodeGeneratorResponse, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", plugin, err)
	}
	response := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(answer, response); err != nil {
		return nil, fmt.Errorf("decoding the answer of %s: %w", plugin, err)
	}
	if response.Error != nil {
		return nil, fmt.Errorf("%s: %s", plugin, response.GetError())
	}
	return response, nil
}
