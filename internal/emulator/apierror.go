package emulator

import (
	"errors"
	"fmt"
	"net/http"
)

// apiError is an error as the OpenAI API reports it.
type apiError struct {
	Status  int    `json:"code"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *apiError) Error() string { return e.Message }

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{Status: http.StatusBadRequest, Type: "BadRequestError", Param: param, Message: fmt.Sprintf(format, args...)}
}

func notFound(param, format string, args ...any) *apiError {
	return &apiError{Status: http.StatusNotFound, Type: "NotFoundError", Param: param, Message: fmt.Sprintf(format, args...)}
}

func modelNotFound(key ModelKey) *apiError {
	return notFound("model", "The model `%s` does not exist in namespace %q.", key.ID, key.Namespace)
}

// asAPIError returns err with the HTTP status for the client.
func asAPIError(err error) *apiError {
	var api *apiError
	switch {
	case errors.As(err, &api):
		return api
	case errors.Is(err, errUnknownModel):
		return notFound("model", "%v", err)
	case errors.Is(err, errTooLong):
		return badRequest("prompt", "the prompt is %v", err)
	case errors.Is(err, errBusy):
		return &apiError{Status: http.StatusTooManyRequests, Type: "RateLimitError", Message: err.Error()}
	default:
		return &apiError{Status: http.StatusServiceUnavailable, Type: "ServiceUnavailableError", Message: err.Error()}
	}
}
